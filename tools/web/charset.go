package web

import (
	"bytes"
	"mime"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"

	"toolserver/tools/files/textfile"
)

// decode makes UTF-8 of a body, and names the charset it was in: what a byte
// order mark says, or else the header, the document itself, that it is valid
// UTF-8, or a guess. Bytes that are nothing in the charset become U+FFFD, as in
// browsers.
func decode(body []byte, contentType string) (text, name string) {
	for _, mark := range []struct{ bytes, name string }{{"\xef\xbb\xbf", "utf-8"}, {"\xfe\xff", "utf-16be"}, {"\xff\xfe", "utf-16le"}} {
		if rest, ok := bytes.CutPrefix(body, []byte(mark.bytes)); ok {
			return convert(rest, mark.name)
		}
	}
	media, params, _ := mime.ParseMediaType(contentType) // what cannot be read says nothing
	if _, name := charset.Lookup(params["charset"]); name != "" {
		return convert(body, name)
	}
	if isJSON(media) {
		return convert(body, "utf-8") // RFC 8259, section 8.1
	}
	if _, name := charset.Lookup(declared(body)); name != "" {
		if strings.HasPrefix(name, "utf-16") {
			name = "utf-8" // or the declaration could not have been read
		}
		return convert(body, name)
	}
	if mostlyUTF8(body) {
		return convert(body, "utf-8")
	}
	if guess := textfile.Guess(body); guess != "" {
		if _, name := charset.Lookup(guess); name != "" {
			return convert(body, name)
		}
	}
	return convert(body, "windows-1252")
}

// mostlyUTF8 reports whether a body is UTF-8, but for an end that was cut off and
// perhaps a stray byte for fifty characters that are not ASCII: in another charset
// hardly any of those would be valid.
func mostlyUTF8(body []byte) bool {
	foreign, bad := 0, 0
	for rest := body; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1 && len(rest) < utf8.UTFMax && !utf8.FullRune(rest):
			return foreign > 0 && bad*50 <= foreign
		case r == utf8.RuneError && size == 1:
			bad++
		case size > 1:
			foreign++
		}
		rest = rest[size:]
	}
	return bad*50 <= foreign
}

// convert decodes a body from a charset of the Encoding standard.
func convert(body []byte, name string) (string, string) {
	if name != "utf-8" {
		if enc, _ := charset.Lookup(name); enc != nil && enc != encoding.Nop {
			if text, err := enc.NewDecoder().Bytes(body); err == nil {
				return strings.TrimPrefix(string(text), "\ufeff"), name
			}
		}
	}
	return strings.ToValidUTF8(string(body), "\ufffd"), "utf-8"
}

// prescan is how much of a document is searched for its charset. Browsers look
// at 1024 bytes; pages that start with scripts declare theirs later.
const prescan = 8 << 10

// declaration finds <meta charset=...>, <meta http-equiv=... content="...;
// charset=..."> and <?xml encoding="..."?>.
var declaration = regexp.MustCompile(`(?i)<(?:meta\s[^>]*?charset|\?xml\s[^>]*?encoding)\s*=\s*["']?\s*([a-z0-9._:-]+)`)

// declared returns the charset that a document says it is in, or "".
func declared(body []byte) string {
	if m := declaration.FindSubmatch(body[:min(len(body), prescan)]); m != nil {
		return string(m[1])
	}
	return ""
}
