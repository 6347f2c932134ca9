#include "site.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rota/blocking.hpp>
#include <rota/http/conditional.hpp>
#include <rota/http/date.hpp>
#include <rota/http/error.hpp>
#include <rota/routine.hpp>
#include <rota/time_span.hpp>
#include <rota/worker.hpp>

#include "clean_path.hpp"
#include "file_answer.hpp"
#include "listing.hpp"
#include "settled.hpp"

namespace rota::http {
namespace {

/// What is sent without a wait is read into memory when it is opened.
constexpr std::uint64_t warmed_bytes = 262'144;
constexpr std::size_t open_max_default = 4'096;

std::size_t open_max_of(const files_options& options) {
    if (options.open_max != 0)
        return options.open_max;
    rlimit allowed{};
    if (::getrlimit(RLIMIT_NOFILE, &allowed) != 0)
        return 1;
    return std::clamp<std::size_t>(allowed.rlim_cur / 8, 1, open_max_default);
}

bool is_shortage(int error) noexcept {
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

/// Up to behind the character that begins at `at`.
std::size_t behind_character(std::string_view text, std::size_t at) noexcept {
    do
        ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U);
    return at;
}

/// Whether `text` is as `pattern` has it, in which '*' stands for anything, and '?' for a
/// character. Takes time for each of the one, at most, times each of the other.
bool matches(std::string_view pattern, std::string_view text) noexcept {
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t star = std::string_view::npos; // the last one, and what it stands for ends before
    std::size_t resume = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = t;
        } else if (p < pattern.size() && pattern[p] == '?') {
            ++p;
            t = behind_character(text, t);
        } else if (p < pattern.size() && pattern[p] == text[t]) {
            ++p;
            ++t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++resume;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::string in_hex(std::uint64_t value) {
    std::array<char, 16> digits{};
    return {digits.data(), std::to_chars(digits.begin(), digits.end(), value, 16).ptr};
}

/// Differs wherever the bytes may, of settled facts: a change of them is one of the time of the
/// last change, which nobody can set (man 7 inode). But for stores to a shared mapping: they set
/// the time at some time before the next msync() (man 2 mmap), those to one page once.
std::string tag_of(const io::file_facts& facts) {
    constexpr std::uint64_t spread = 0x9e37'79b9'7f4a'7c15;
    return in_hex(facts.size) + '-' + in_hex(static_cast<std::uint64_t>(facts.modified_ns)) + '-' +
           in_hex(static_cast<std::uint64_t>(facts.changed_ns) ^ facts.inode * spread);
}

/// A date that is still to come is that of the answer (RFC 9110 section 8.8.2.1), by the clock of
/// its Date, which is behind others by up to a tick.
std::chrono::sys_seconds modified_at(const io::file_facts& facts) {
    using std::chrono::system_clock;
    const std::chrono::sys_time<std::chrono::nanoseconds> at{
        std::chrono::nanoseconds(facts.modified_ns)};
    const auto now = system_clock::from_time_t(std::time(nullptr));
    return std::min(std::chrono::floor<std::chrono::seconds>(at),
                    std::chrono::floor<std::chrono::seconds>(now));
}

/// Whether a sibling that was last written to at `sibling_ns` is no older than what was at
/// `plain_ns`, as far as its time says: what gives it the file's cuts that, brotli to the second,
/// others to the microsecond or millisecond.
bool is_as_new(std::int64_t sibling_ns, std::int64_t plain_ns) noexcept {
    constexpr std::int64_t millisecond = 1'000'000;
    constexpr std::int64_t second = 1'000'000'000;
    const std::uint64_t precision = sibling_ns % second == 0 ? second : millisecond;
    const auto ahead =
        static_cast<std::uint64_t>(plain_ns) - static_cast<std::uint64_t>(sibling_ns);
    return sibling_ns >= plain_ns || ahead < precision;
}

bool is_same(const struct stat& found, const io::file_facts& facts) noexcept {
    return found.st_ino == facts.inode && found.st_dev == facts.device;
}

/// Neither its bytes nor its names have changed: a file that has lost its name shows it, too.
bool is_as_found(const representation& of) { return of.file.facts() == of.facts; }

/// Reads the beginning into memory.
void warm(const representation& of) {
    io::file_slice first = of.whole();
    first.size = std::min(first.size, warmed_bytes);
    io::read_into_memory(first);
}

files_options sensible(files_options options) {
    if (options.believed.count() < 0)
        throw std::invalid_argument("how long a file is believed is not negative");
    options.believed = at_most_ten_years(options.believed);
    return options;
}

std::int64_t in_ns(std::chrono::steady_clock::time_point at) noexcept {
    return std::chrono::nanoseconds(at.time_since_epoch()).count();
}

} // namespace

http_error refusal_of(int error) {
    if (is_shortage(error))
        return {503, "no more files can be opened now"};
    switch (error) {
    case EACCES:
    case EPERM:
        return {403, ""};
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EINVAL: // a name that its file system does not have
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO: // a socket
    case EXDEV: // it leads out
        return {404, ""};
    default: // a mount or a disk is out of order: the file may be there
        return {500, "the file cannot be read"};
    }
}

site::site(const std::string& directory, files_options options)
    : options_(sensible(std::move(options))), types_(options_.types, options_.types_file),
      root_(directory), cache_(std::make_shared<file_cache>(open_max_of(options_))),
      sweepers_([of = cache_] { return file_sweeper(of); }) {
    headers tried;
    for (const cache_rule& rule : options_.cache_control)
        tried.set("Cache-Control", rule.value);
    if (!options_.index.empty() &&
        (!is_clean_path(options_.index, true) || options_.index.find('/') != std::string::npos))
        throw std::invalid_argument("an index is the name of a file");
}

// --- Finding ---

int site::open_regular(const std::string& path, representation& into) const {
    using effort = directory::effort;
    const descriptor there(root_.open(path, O_PATH, effort::wait));
    if (there.get() < 0)
        return -there.get();
    struct stat found {};
    if (::fstat(there.get(), &found) != 0)
        return errno;
    if (S_ISDIR(found.st_mode))
        return EISDIR;
    if (!S_ISREG(found.st_mode))
        return ENOENT;
    // A pipe may have come in its place: opening it must not wait for a writer.
    const int fd = root_.open(path, O_RDONLY | O_NONBLOCK, effort::wait);
    if (fd < 0)
        return -fd;
    into.file = io::shared_file(fd);
    if (::fstat(fd, &found) != 0)
        return errno;
    if (!S_ISREG(found.st_mode))
        return ENOENT;
    into.settled = read_settled(
        into.facts, [&into] { return into.file.facts(); }, std::chrono::system_clock::now,
        [](std::chrono::nanoseconds left) { std::this_thread::sleep_for(left); });
    return 0;
}

void site::describe(representation& of, const std::string& path, std::string_view coding,
                    bool varies) const {
    of.tag = tag_of(of.facts);
    if (!coding.empty()) // its bytes may be another one's, too
        of.tag.append("-").append(coding);
    if (!of.settled) { // another content may have the same facts soon, and be settled
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        of.tag += '-' + in_hex(static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count()));
    }
    of.coded = !coding.empty();
    of.modified = modified_at(of.facts);
    of.stays = "ETag: " + entity_tag{.opaque = of.tag, .weak = !of.settled}.to_string() + "\r\n";
    of.stays += cache_line_of(path);
    of.varies = varies;
    if (varies)
        of.stays += varies_by_coding;
    of.fields = "Last-Modified: " + http_date(of.modified) +
                "\r\nAccept-Ranges: bytes\r\nX-Content-Type-Options: nosniff\r\n";
    if (!coding.empty())
        of.fields.append("Content-Encoding: ").append(coding).append("\r\n");
}

/// "" where no rule fits.
std::string site::cache_line_of(std::string_view path) const {
    for (const cache_rule& rule : options_.cache_control) {
        if (matches(rule.pattern, path))
            return "Cache-Control: " + rule.value + "\r\n";
    }
    return {};
}

site::finding site::open_once(const std::string& path) const {
    auto found = std::make_shared<site_file>();
    if (const int error = open_regular(path, found->plain); error != 0) {
        const auto what = error == EISDIR ? finding::kind::directory : finding::kind::nothing;
        return {.what = what, .file = {}, .error = error};
    }
    found->type = types_.of(path);
    const std::string_view coding = types_.coding_of(path);
    const bool may_have_siblings = options_.precompressed && coding.empty();
    for (std::size_t i = 0; may_have_siblings && i < sibling_kinds.size(); ++i) {
        site_file::sibling& sibling = found->siblings[i];
        const std::string beside = path + std::string(sibling_kinds[i].ending);
        const int error = open_regular(beside, sibling.of);
        if (is_shortage(error))
            return {.what = finding::kind::nothing, .file = {}, .error = error};
        sibling.there = error == 0;
        // No bytes are nothing in any coding: it is being made, or that has failed.
        sibling.fits = sibling.there && sibling.of.facts.size != 0 &&
                       is_as_new(sibling.of.facts.modified_ns, found->plain.facts.modified_ns);
        found->has_siblings = found->has_siblings || sibling.fits;
    }
    describe(found->plain, path, coding, found->has_siblings);
    for (std::size_t i = 0; i < sibling_kinds.size(); ++i) {
        if (!found->siblings[i].fits)
            continue;
        describe(found->siblings[i].of, path, sibling_kinds[i].coding, true);
        warm(found->siblings[i].of);
    }
    warm(found->plain);
    return {.what = finding::kind::file, .file = std::move(found)};
}

site::finding site::open(const std::string& path) {
    finding found = open_once(path);
    if (!is_shortage(found.error))
        return found;
    cache_->clear(); // what is open only to be quick gives way
    return open_once(path);
}

site::finding site::peek(const std::string& path) const {
    const descriptor there(root_.open(path, O_PATH, directory::effort::only_cached));
    if (there.get() == -EAGAIN || is_shortage(-there.get())) // open() may make room
        return {.what = finding::kind::unknown};
    struct stat found {};
    if (there.get() < 0 || ::fstat(there.get(), &found) != 0)
        return {.what = finding::kind::nothing, .error = there.get() < 0 ? -there.get() : errno};
    if (S_ISDIR(found.st_mode))
        return {.what = finding::kind::directory, .error = EISDIR};
    if (S_ISREG(found.st_mode))
        return {.what = finding::kind::unknown};
    return {.what = finding::kind::nothing, .error = ENOENT};
}

bool site::confirms(const std::string& path, const site_file& file) const {
    const auto is_there = [this](const std::string& at, const io::file_facts* as) {
        const descriptor there(root_.open(at, O_PATH, directory::effort::only_cached));
        if (there.get() < 0)
            return as == nullptr && there.get() != -EAGAIN && !is_shortage(-there.get());
        struct stat found {};
        if (::fstat(there.get(), &found) != 0)
            return false;
        if (as != nullptr)
            return is_same(found, *as);
        return !S_ISREG(found.st_mode) ||
               (::faccessat(there.get(), "", R_OK, AT_EMPTY_PATH | AT_EACCESS) != 0 &&
                errno == EACCES);
    };
    if (!is_there(path, &file.plain.facts))
        return false;
    const bool may_have_siblings = options_.precompressed && types_.coding_of(path).empty();
    for (std::size_t i = 0; may_have_siblings && i < sibling_kinds.size(); ++i) {
        const site_file::sibling& sibling = file.siblings[i];
        const std::string beside = path + std::string(sibling_kinds[i].ending);
        if (beside.size() - (beside.rfind('/') + 1) > NAME_MAX) // of which nothing is remembered
            continue;
        if (!is_there(beside, sibling.there ? &sibling.of.facts : nullptr))
            return false;
        if (sibling.there && !sibling.fits && !is_as_found(sibling.of))
            return false;
    }
    return true;
}

/// Whether it can be told that it is there now as it was found.
bool site::holds(const std::string& path, const site_file& known, time_point now) const {
    const auto age =
        std::chrono::nanoseconds(in_ns(now) - known.looked_at_ns.load(std::memory_order_relaxed));
    const bool looked_for = age >= options_.believed;
    if (!known.settled() || (looked_for && !confirms(path, known)) || !is_as_found(known.plain))
        return false;
    if (looked_for)
        known.looked_at_ns.store(in_ns(now), std::memory_order_relaxed);
    return true;
}

/// Null with what else there is in `other`.
task<site_file_ptr> site::find_file(const std::string* path, finding* other) {
    const auto now = worker::current()->turn_time();
    std::optional<std::chrono::sys_seconds> date_before;
    std::string tag_before; // empty, too, if what was there shared its date
    if (site_file_ptr known = cache_->find(*path, now)) {
        if (holds(*path, *known, now))
            co_return known;
        date_before = known->plain.modified;
        if (!known->plain.shares_date && !known->plain.varies)
            tag_before = known->plain.tag;
    } else {
        *other = peek(*path);
        if (other->what != finding::kind::unknown)
            co_return nullptr;
    }
    auto opening = [this, path] { return open(*path); };
    *other = co_await blocking(std::ref(opening));
    if (other->what != finding::kind::file) {
        cache_->drop(*path);
        co_return nullptr;
    }
    const std::shared_ptr<site_file> fresh = std::move(other->file);
    fresh->plain.shares_date =
        date_before == fresh->plain.modified && tag_before != fresh->plain.tag;
    fresh->looked_at_ns.store(in_ns(now), std::memory_order_relaxed);
    file_sweeper& sweeper = sweepers_.get();
    cache_->put(*path, fresh, now); // one that is not settled tells the next of its date
    sweeper.start();
    co_return fresh;
}

// --- Answering ---

/// Nearly always of a file that is open already: then without a coroutine.
task<response> site::answer(request& asked, std::string_view path) {
    // An encoded slash is none that separates, and no name has one.
    const std::string_view raw = asked.raw_path();
    const bool escaped_slash =
        raw.find("%2f") != std::string_view::npos || raw.find("%2F") != std::string_view::npos;
    if (escaped_slash || !is_clean_path(path, options_.dotfiles))
        throw http_error(404, "");
    std::string name(path);
    const bool slash = name.empty() || name.back() == '/';
    if (slash && options_.index.empty())
        return answer_directory(&asked, std::move(name));
    if (slash)
        name += options_.index;
    const worker* const home = worker::current();
    if (home == nullptr) // called where it cannot be awaited
        return look_and_answer(&asked, std::move(name), slash);
    const auto now = home->turn_time();
    if (const site_file_ptr known = cache_->find(name, now); known && holds(name, *known, now)) {
        const representation& chosen = choose_representation(asked, *known);
        if (&chosen == &known->plain || is_as_found(chosen))
            return ready_task(file_answer(asked, chosen, known->type));
    }
    return look_and_answer(&asked, std::move(name), slash);
}

task<response> site::look_and_answer(request* asked, std::string name, bool slash) {
    finding other;
    site_file_ptr file = co_await find_file(&name, &other);
    if (file) {
        const representation* chosen = &choose_representation(*asked, *file);
        if (chosen != &file->plain && !is_as_found(*chosen)) {
            // What stands beside the file has changed: it is looked for anew.
            cache_->drop(name);
            file = co_await find_file(&name, &other);
            if (!file)
                throw refusal_of(other.error);
            chosen = &choose_representation(*asked, *file);
        }
        co_return file_answer(*asked, *chosen, file->type);
    }
    if (other.what == finding::kind::directory && !slash)
        co_return slash_answer(*asked);
    const http_error refusal = refusal_of(other.error);
    if (slash && options_.listing &&
        refusal.status() == 404) { // no index, whatever else has its name
        name.resize(name.size() - options_.index.size());
        co_return co_await answer_directory(asked, std::move(name));
    }
    throw refusal;
}

task<response> site::answer_directory(const request* asked, std::string path) {
    if (!options_.listing)
        throw refusal_of(ENOENT);
    int error = 0;
    const std::string_view shown = asked->path();
    const auto list = [this, &path, shown, &error]() -> std::string {
        const auto open = [this, &error](const std::string& name, int flags) {
            const int fd = root_.open(name, flags, directory::effort::wait);
            if (fd < 0 && (error == 0 || is_shortage(-fd)))
                error = -fd;
            return fd;
        };
        error = 0;
        const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
        if (fd < 0)
            return {};
        const auto look = [&](const std::string& name) { return open(path + name, O_PATH); };
        std::string page = make_listing(fd, shown, options_.dotfiles, look);
        if (!is_shortage(error)) // a link that leads nowhere is left out
            error = 0;
        return page;
    };
    auto make = [this, &list, &error] {
        std::string page = list();
        if (!is_shortage(error))
            return page;
        cache_->clear(); // as in open()
        return list();
    };
    std::string page = co_await blocking(std::ref(make));
    if (error != 0)
        throw refusal_of(error);
    const precondition as_asked = check_preconditions(asked->method(), asked->headers(), {});
    if (as_asked == precondition::not_modified) // If-None-Match: *
        co_return response(304);
    const bool failed = as_asked == precondition::failed;
    response answer =
        failed ? response::text("Precondition Failed\n") : response::html(std::move(page));
    if (failed)
        answer.status(412);
    answer.headers().append_trusted("X-Content-Type-Options: nosniff\r\n");
    answer.headers().append_trusted(cache_line_of(path));
    co_return answer;
}

} // namespace rota::http
