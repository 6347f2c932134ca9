// Frames that come whole and in pieces are the same messages and faults, within the limits; and
// offers of compression are answered with what was offered.
#include <memory>
#include <optional>
#include <string>

#include <rota/coding/format.hpp>

#include "deflate_offer.hpp"
#include "message_reader.hpp"
#include "target.hpp"

namespace {

using namespace rota::http::ws;
using rota::fuzz::require;
using rota::fuzz::require_equal;
using found = message_reader::found;

constexpr std::size_t bytes_max = 4'096;

/// All that is read, as text.
class reading {
public:
    explicit reading(bool deflate, bool in_pieces)
        : reader_(bytes_max, deflate ? std::optional(inflate_terms{}) : std::nullopt),
          in_pieces_(in_pieces) {}

    void feed(std::string_view in) {
        while (!failed_) {
            const message_reader::step step = reader_.take(in);
            require(step.taken <= in.size(), "no more is taken than there is");
            in.remove_prefix(step.taken);
            require(shown_ + reader_.content().size() <= bytes_max + 1, "a message is bounded");
            look(step.what);
            if (step.what == found::more) {
                require(in.empty(), "what wants more has taken all");
                return;
            }
        }
    }
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    void look(found what) {
        if (what == found::failed) {
            failed_ = true;
            const auto code = reader_.fault().code;
            require(code == 1002 || code == 1007 || code == 1009, "a fault has a code");
            text_ += "!" + std::to_string(code);
        } else if (what == found::control) {
            require(reader_.control().size() <= 125, "a control frame is short");
            text_ += "<" + std::to_string(static_cast<int>(reader_.control_op())) + ":" +
                     std::string(reader_.control()) + ">";
        } else {
            show(what == found::message);
        }
    }
    void show(bool last) {
        if (!last && !in_pieces_)
            return;
        message_ += reader_.content();
        shown_ += reader_.content().size();
        reader_.forget_content();
        if (!last)
            return;
        require(message_.size() <= bytes_max, "a message is no larger than allowed");
        text_ += (reader_.is_text() ? "t[" : "b[") + message_ + "]";
        message_.clear();
        shown_ = 0;
        static_cast<void>(reader_.rest());
    }

    message_reader reader_;
    const bool in_pieces_;
    bool failed_ = false;
    std::size_t shown_ = 0;
    std::string message_;
    std::string text_;
};

void check_frames(std::string_view bytes, unsigned choice) {
    const bool deflate =
        (choice & 1) != 0 && rota::coding::is_available(rota::coding::format::deflate);
    reading whole(deflate, false);
    whole.feed(bytes);
    reading pieces(deflate, (choice & 2) != 0);
    for (const std::string_view piece : rota::fuzz::cut(bytes, choice, 1 + choice % 7))
        pieces.feed(piece);
    require_equal(pieces.text(), whole.text(), "pieces are read as the whole");
}

/// The mask made none, so that what is compressed shows as it is.
void check_payload(std::string_view payload, unsigned choice) {
    std::string all;
    const bool compressed = (choice & 1) != 0;
    while (!payload.empty()) {
        const std::string_view part = payload.substr(0, 125);
        payload.remove_prefix(part.size());
        unsigned first = all.empty() ? 1U + (choice >> 2 & 1) : 0U;
        first |= payload.empty() ? 0x80U : 0U;
        first |= compressed && all.empty() ? 0x40U : 0U;
        all += static_cast<char>(first);
        all += static_cast<char>(0x80U | part.size());
        all.append(4, '\0');
        all += part;
    }
    check_frames(all, choice);
}

void check_offer(std::string_view list) {
    const deflate_choice chosen = choose_deflate(list, {});
    require(!chosen.malformed || !chosen.terms, "what is malformed is not chosen from", list);
    require(chosen.terms.has_value() == !chosen.answer.empty(), "an answer says what", list);
    if (!chosen.terms)
        return;
    require(list.find("permessage-deflate") != std::string_view::npos, "it was offered", list);
    const deflate_choice again = choose_deflate(chosen.answer, {});
    require_equal(again.answer, chosen.answer, "an answer is an offer that is accepted as it is");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const rota::fuzz::input in(data, size);
    check_frames(in.text, in.choice);
    check_payload(in.text, in.choice);
    check_offer(in.text);
    return 0;
}
