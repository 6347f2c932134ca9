#include "symbols.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rota {
namespace {

/// `count` of T at `offset` of `file`, or none if they are not all there.
template <class T>
std::span<const T> table_at(std::span<const char> file, std::size_t offset, std::size_t count) {
    if (offset > file.size() || (file.size() - offset) / sizeof(T) < count ||
        offset % alignof(T) != 0)
        return {};
    return {reinterpret_cast<const T*>(file.data() + offset), count};
}

/// How far the program is from where its file says; the first entry is the program itself.
std::uintptr_t load_bias() {
    std::uintptr_t bias = 0;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
            *static_cast<std::uintptr_t*>(out) = info->dlpi_addr;
            return 1;
        },
        &bias);
    return bias;
}

std::string hexadecimal(std::uintptr_t value) {
    char digits[2 * sizeof value];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), value, 16).ptr;
    return "+0x" + std::string(digits, end);
}

/// Where the arguments begin: the first bracket outside template arguments that does not belong to
/// "(anonymous namespace)" or to an operator.
std::size_t arguments_of(std::string_view name) {
    constexpr std::string_view unnamed = "(anonymous namespace)";
    constexpr std::string_view op = "operator";
    int depth = 0;
    for (std::size_t i = 0; i < name.size();) {
        if (name.substr(i).starts_with(unnamed)) {
            i += unnamed.size();
        } else if (name.substr(i).starts_with(op)) {
            i += op.size();
            if (name.substr(i).starts_with("()"))
                i += 2;
            i = std::min(name.find_first_not_of("<>=-+*/%^&|~![],", i), name.size());
        } else {
            if (name[i] == '(' && depth == 0)
                return i;
            depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
            ++i;
        }
    }
    return name.size();
}

} // namespace

std::string readable_name(const std::string& mangled) {
    // GCC calls the body of a coroutine "<name>.actor" and has "<name>.Frame" among its arguments,
    // Clang calls it "<name>.resume": what follows the arguments goes with them.
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> demangled(
        abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
    if (status != 0 || demangled == nullptr)
        return mangled.substr(0, mangled.find('.'));
    std::string name = demangled.get();
    name.resize(arguments_of(name));
    return name;
}

symbol_table::symbol_table() {
    const int exe = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat info {};
    if (exe >= 0 && ::fstat(exe, &info) == 0 && info.st_size > 0) {
        const auto size = static_cast<std::size_t>(info.st_size);
        void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, exe, 0);
        if (memory != MAP_FAILED)
            file_ = {static_cast<const char*>(memory), size};
    }
    if (exe >= 0)
        ::close(exe);
    find_tables();
}

symbol_table::~symbol_table() {
    if (!file_.empty())
        ::munmap(const_cast<char*>(file_.data()), file_.size());
}

void symbol_table::find_tables() {
    const auto header = table_at<ElfW(Ehdr)>(file_, 0, 1);
    if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0)
        return;
    const auto sections = table_at<ElfW(Shdr)>(file_, header[0].e_shoff, header[0].e_shnum);
    for (const ElfW(Shdr) & section : sections) {
        if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size())
            continue;
        const ElfW(Shdr)& strings = sections[section.sh_link];
        const auto names = table_at<char>(file_, strings.sh_offset, strings.sh_size);
        if (names.empty() || names.back() != '\0')
            continue;
        names_ = {names.data(), names.size()};
        symbols_ =
            table_at<ElfW(Sym)>(file_, section.sh_offset, section.sh_size / sizeof(ElfW(Sym)));
    }
}

std::string_view symbol_table::own_name_of(std::uintptr_t address) const {
    const std::uintptr_t in_file = address - load_bias();
    for (const ElfW(Sym) & symbol : symbols_) {
        if (in_file - symbol.st_value < symbol.st_size &&
            ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_name < names_.size())
            return names_.data() + symbol.st_name;
    }
    return {};
}

std::string symbol_table::name_of(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (const std::string_view own = own_name_of(at); !own.empty())
        return readable_name(std::string(own));
    Dl_info info{};
    if (::dladdr(address, &info) == 0)
        return hexadecimal(at).substr(1);
    if (info.dli_sname != nullptr)
        return readable_name(info.dli_sname);
    const std::string path = info.dli_fname != nullptr ? info.dli_fname : "?";
    return path.substr(path.rfind('/') + 1) +
           hexadecimal(at - reinterpret_cast<std::uintptr_t>(info.dli_fbase));
}

} // namespace rota
