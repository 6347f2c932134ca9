#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <link.h>

namespace rota {

/// The functions of this program by address, looked up in its file (man 5 elf), which stays mapped
/// as long as this lives. For reports: each look-up goes through all of them. Thread-safety: const.
class symbol_table {
public:
    /// Maps /proc/self/exe; without it, or stripped, it is empty.
    symbol_table();
    ~symbol_table();
    symbol_table(const symbol_table&) = delete;
    symbol_table& operator=(const symbol_table&) = delete;

    /// "name", demangled and without its arguments; for what no table knows "file+0x1234".
    [[nodiscard]] std::string name_of(const void* address) const;

private:
    /// Finds the tables in the mapped file; leaves them empty if they are not whole.
    void find_tables();
    [[nodiscard]] std::string_view own_name_of(std::uintptr_t address) const;

    std::span<const char> file_;
    std::span<const ElfW(Sym)> symbols_;
    std::string_view names_; // of symbols_: each ends with a null
};

/// What a reader wants of a name as the linker has it: demangled, without arguments, without what
/// compilers add for coroutines. Others are given back as they are.
[[nodiscard]] std::string readable_name(const std::string& mangled);

} // namespace rota
