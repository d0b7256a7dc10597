package web

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/text/textfile"
)

// decode makes UTF-8 of a body and names the charset it was in: what a byte order mark says, or else the header, the document
// itself, that it is valid UTF-8, or a guess. What the body is not valid in does not count, if it is in something else; the note
// says so, or that it is a guess. Undecodable bytes become U+FFFD, as in browsers.
func decode(body []byte, contentType string) (text, name, note string) {
	own := declared(body, contentType)
	_, name, certain := charset.DetermineEncoding(body, contentType)
	if !certain { // neither a mark nor the header
		name = own
	}
	if claimed := name; claimed == "" || !fits(body, claimed) || claimed != "utf-8" && surelyUTF8(body) {
		found, guessed := detect(body, own)
		switch {
		case claimed == "" && guessed:
			note = fmt.Sprintf("the page does not say its charset; it was read as %s, which is a guess", found)
		case claimed != "" && (!fits(body, found) || guessed && strings.Count(string([]rune(string(body))), "\ufffd") < leastInvalid):
			found = claimed
		case claimed != "":
			note = fmt.Sprintf("the page is said to be in %s, in which it is not valid; it was read as %s", claimed, found)
		}
		name = found
	}
	if name != "utf-8" {
		if decoded, err := decoded(body, name); err == nil {
			return strings.TrimPrefix(string(decoded), "\ufeff"), name, note
		}
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(body), "\ufffd"), "\ufeff"), "utf-8", note
}

// leastInvalid is how many bytes in a body are no UTF-8 when a guess counts more than what it is said to be.
const leastInvalid = 6

func decoded(body []byte, name string) ([]byte, error) {
	enc, _ := charset.Lookup(name)
	if enc == nil {
		return nil, errors.New("no such charset")
	}
	return enc.NewDecoder().Bytes(body)
}

// fits reports whether a body is valid in a charset: hardly anything in it is undecodable or a control character.
func fits(body []byte, name string) bool {
	if name == "utf-8" {
		return mostlyUTF8(body)
	}
	text, err := decoded(body, name)
	foreign, bad := 0, 0
	for i, r := range string(text) {
		switch {
		case r == utf8.RuneError && i+len("\ufffd") < len(text) || r == 0 || 0x7f < r && r < 0xa0:
			bad++
		case r >= utf8.RuneSelf:
			foreign++
		}
	}
	return err == nil && bad*50 <= foreign
}

// surelyUTF8 reports whether a body is UTF-8 that makes no sense in any other charset, although it may be valid in it.
func surelyUTF8(body []byte) bool {
	return utf8.Valid(body) && len(body)-utf8.RuneCount(body) >= 2*leastInvalid
}

// detect returns the charset of a body, which may say its own, and whether that is a guess.
func detect(body []byte, own string) (name string, guess bool) {
	switch {
	case surelyUTF8(body):
		return "utf-8", false
	case own != "" && fits(body, own):
		return own, false
	case bytes.Contains(body, []byte("\x1b$B")) || bytes.Contains(body, []byte("\x1b$@")): // ASCII but for what these begin
		return "iso-2022-jp", false
	case mostlyUTF8(body):
		return "utf-8", false
	}
	_, name = charset.Lookup(textfile.Guess(body))
	return cmp.Or(name, "windows-1252"), true
}

// mostlyUTF8 reports whether a body is UTF-8, except a character cut off at its end
// and at most one stray byte for fifty characters beyond ASCII: in another charset
// hardly any of those would be valid.
func mostlyUTF8(body []byte) bool {
	foreign, bad := 0, 0
	for len(body) > 0 && utf8.FullRune(body) {
		r, size := utf8.DecodeRune(body)
		switch {
		case size > 1:
			foreign++
		case r == utf8.RuneError:
			bad++
		}
		body = body[size:]
	}
	return bad*50 <= foreign && (foreign > 0 || len(body) == 0)
}

// prescan is how much of a document is searched for its charset. Browsers look
// at 1024 bytes; pages that start with scripts declare theirs later.
const prescan = 8 << 10

// declaration finds <meta charset=...>, <meta http-equiv=... content="...;
// charset=..."> and <?xml encoding="..."?>.
var declaration = lazyregexp.New(`(?i)<(?:meta\s[^>]*?charset|\?xml\s[^>]*?encoding)\s*=\s*["']?\s*([a-z0-9._:-]+)`)

// comment is what declares nothing; one that is cut off reaches to the end.
var comment = lazyregexp.New(`(?s)<!--.*?(?:-->|$)`)

// declared returns the charset that a document says it is in, or "". That of JSON is UTF-8 (RFC 8259, section 8.1).
func declared(body []byte, contentType string) string {
	if media, _, _ := mime.ParseMediaType(contentType); isJSON(media) { // an unreadable type is none
		return "utf-8"
	}
	head := comment().ReplaceAll(body[:min(len(body), prescan)], nil)
	m := declaration().FindSubmatch(head)
	if m == nil {
		return ""
	}
	_, name := charset.Lookup(string(m[1]))
	if strings.HasPrefix(name, "utf-16") { // or the declaration could not have been read
		return "utf-8"
	}
	return name
}
