package mail

import (
	"bytes"
	"fmt"
	"net/mail"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/simplifiedchinese"
	"google.golang.org/api/gmail/v1"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/text/html"
)

// Header returns the first header of that name as people read it, see [DecodeField]. It is "" if there is none.
func Header(p *gmail.MessagePart, name string) string { return DecodeField(name, rawHeader(p, name)) }

// DecodeField returns the value of a header as people read it: decoded, on one line and without control characters. A decoded name that
// could be taken for addresses or several names is quoted.
func DecodeField(name, value string) string {
	if !addressField().MatchString(name) || !utf8.ValidString(value) {
		return DecodeHeader(value)
	}
	return strings.TrimSpace(html.Plain(decodeNames(value, specials)))
}

var addressField = lazyregexp.New(`(?i)^(resent-)?(from|sender|to|cc|bcc|reply-to)$`)

// specials are what a name is quoted for, as in RFC 5322. A period does not mislead.
const specials = `()<>[]:;@\,"`

// decodeNames decodes the encoded words of addresses. What has one of these characters stands in quotes then.
func decodeNames(value, quote string) string {
	var out strings.Builder
	s, end := unfold.Replace(value), 0
	for _, m := range encodedPhrase().FindAllStringIndex(s, -1) {
		text := DecodeHeader(s[m[0]:m[1]])
		odd, within := quote == "" || strings.ContainsAny(text, quote), strings.Count(s[:m[0]], `"`)%2 == 1 // some mailers have put it in quotes
		if odd {
			text = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)
		}
		if odd && !within {
			text = `"` + text + `"`
		}
		out.WriteString(s[end:m[0]] + text)
		end = m[1]
	}
	return out.String() + s[end:]
}

// Addresses returns the addresses in the first header of that name, names decoded; none if the header is malformed.
func Addresses(p *gmail.MessagePart, name string) []*mail.Address {
	// The parser decodes fewer charsets, and word for word. It is given names in quotes.
	list, err := mail.ParseAddressList(decodeNames(rawHeader(p, name), ""))
	if err != nil {
		return nil
	}
	for _, a := range list {
		a.Name = strings.TrimSpace(html.Plain(unfold.Replace(a.Name)))
	}
	return list
}

func rawHeader(p *gmail.MessagePart, name string) string {
	if p != nil {
		for _, h := range p.Headers {
			if h != nil && strings.EqualFold(h.Name, name) {
				return h.Value
			}
		}
	}
	return ""
}

// parameter returns a parameter of a header such as Content-Type, also of a malformed one.
func parameter(value, name string) string {
	for field := range strings.SplitSeq(value, ";") {
		if key, v, ok := strings.Cut(field, "="); ok && strings.EqualFold(strings.TrimSpace(key), name) {
			v, _, _ = strings.Cut(strings.Trim(strings.TrimSpace(v), `"'`), " ")
			return strings.Trim(v, `"'`)
		}
	}
	return ""
}

// encodedWord is an encoded-word, also one with the spaces in it that some mailers leave.
var encodedWord = lazyregexp.New(`=\?([^?\s]+)\?([bBqQ])\?([^?]*)\?=`)

// encodedPhrase is encoded-words that follow one another.
var encodedPhrase = lazyregexp.New(encodedWord().String() + `(\s+` + encodedWord().String() + `)*`)

// unfold makes one line of a header.
var unfold = strings.NewReplacer("\r\n ", " ", "\r\n\t", " ", "\n ", " ", "\n\t", " ", "\r\n", " ", "\r", " ", "\n", " ", "\t", " ")

// DecodeHeader returns the value of a header as people read it. What is not a valid encoded-word stays as it is. Words that follow
// one another are decoded together: many mailers divide characters between them.
func DecodeHeader(s string) string {
	if !utf8.ValidString(s) {
		s, _ = decodeText([]byte(s), "", false)
	}
	var out strings.Builder
	var run []byte // what the last words encode
	declared, end, inRun := "", 0, false
	flush := func() {
		text, _ := decodeText(run, declared, false)
		out.WriteString(text)
		run, inRun = run[:0], false
	}
	for _, m := range encodedWord().FindAllStringSubmatchIndex(s, -1) {
		name, _, _ := strings.Cut(s[m[2]:m[3]], "*") // a language may follow
		data, ok := decodeWord(s[m[4]:m[5]], s[m[6]:m[7]])
		if !ok {
			continue
		}
		between := s[end:m[0]]
		if blank := strings.TrimSpace(between) == ""; inRun && (!blank || !strings.EqualFold(name, declared)) {
			flush()
			inRun = blank
		}
		if !inRun {
			out.WriteString(between)
		}
		run, declared, end, inRun = append(run, data...), name, m[1], true
	}
	flush()
	out.WriteString(s[end:])
	return strings.TrimSpace(html.Plain(unfold.Replace(out.String())))
}

// decodeWord returns what an encoded-word encodes.
func decodeWord(way, text string) ([]byte, bool) {
	if strings.EqualFold(way, "b") {
		data, err := Decode(text)
		return data, err == nil || len(data) > 0
	}
	return decodeTransfer([]byte(strings.ReplaceAll(text, "_", " ")), "quoted-printable"), true
}

// shifts begin text in ISO-2022-JP.
var shifts = lazyregexp.New(`\x1b(\$[@B]|\([JI])`)

// decodeText makes UTF-8 of text, and says what is doubtful. Text that is valid UTF-8 is that, whatever is declared: no other
// charset looks like it, except those of 7 bits, and those of East Asia if the text is short.
func decodeText(data []byte, declared string, markup bool) (s, warning string) {
	name := strings.ToLower(strings.TrimSpace(declared))
	enc := lookup(name)
	switch {
	case bytes.HasPrefix(data, []byte("\xEF\xBB\xBF")):
		data = data[3:]
	case bytes.HasPrefix(data, []byte("\xFE\xFF")):
		name, enc = "utf-16be", lookup("utf-16be")
	case bytes.HasPrefix(data, []byte("\xFF\xFE")):
		name, enc = "utf-16le", lookup("utf-16le")
	case shifts().Match(data):
		if s, ok := convert(lookup("iso-2022-jp"), data); ok {
			return s, ""
		}
	case name == "hz-gb-2312" && bytes.Contains(data, []byte("~{")):
		enc = simplifiedchinese.HZGB2312
	}
	wide := strings.HasPrefix(name, "utf-16") && bytes.IndexByte(data, 0) >= 0
	if wide || !utf8.Valid(data) || enc == simplifiedchinese.HZGB2312 || short(data, name) {
		if enc == nil && markup {
			_, meta, _ := charset.DetermineEncoding(data, "")
			enc = lookup(meta)
		}
		if enc != nil && name != "utf-8" {
			if s, ok := convert(enc, data); ok {
				return s, ""
			}
		}
	}
	valid := strings.ToValidUTF8(string(data), "\uFFFD")
	unknown := name != "" && enc == nil
	foreign := foreignRunes(valid)
	if utf8.Valid(data) || foreign > 10*strings.Count(valid, "\uFFFD") || cutOff(data) && (foreign > 0 || name == "utf-8") {
		if unknown {
			warning = fmt.Sprintf("unknown charset %.40q, read as utf-8", name)
		}
		return valid, warning
	}
	if unknown {
		warning = fmt.Sprintf("unknown charset %.40q, read as windows-1252", name)
	} else if name != "" {
		warning = fmt.Sprintf("the text is not in the charset %.40q as it says, read as windows-1252", name)
	}
	s, _ = convert(lookup("windows-1252"), data)
	return s, warning
}

// lookup returns a charset that mail may be in, or nil. Charsets that browsers refuse to decode are none.
func lookup(name string) encoding.Encoding {
	enc, canonical := charset.Lookup(name)
	if canonical == "replacement" || canonical == "x-user-defined" {
		return nil
	}
	return enc
}

// convert decodes data, and reports whether nearly all of it is text in the charset.
func convert(enc encoding.Encoding, data []byte) (string, bool) {
	out, err := enc.NewDecoder().Bytes(data)
	s := strings.TrimPrefix(string(out), "\uFEFF")
	return s, err == nil && strings.Count(s, "\uFFFD")*20 <= foreignRunes(s)
}

func foreignRunes(s string) (n int) {
	for _, r := range s {
		if r >= utf8.RuneSelf && r != utf8.RuneError {
			n++
		}
	}
	return n
}

// cutOff reports whether data is UTF-8 up to a character that its end divides.
func cutOff(data []byte) bool {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if utf8.RuneStart(data[len(data)-n]) {
			return utf8.Valid(data[:len(data)-n]) && !utf8.FullRune(data[len(data)-n:])
		}
	}
	return false
}

// short reports whether text that is said to be in a charset of East Asia may be just that although it is valid UTF-8: characters
// from there have three bytes in UTF-8, pairs of bytes that are valid by chance make shorter ones.
func short(data []byte, name string) bool {
	_, canonical := charset.Lookup(name)
	switch canonical {
	case "gbk", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr":
		return !bytes.ContainsFunc(data, func(r rune) bool { return r > 0x7FF })
	}
	return false
}
