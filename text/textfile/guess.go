package textfile

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gogs/chardet"
)

// sampleSize is how much text a guess looks at.
const sampleSize = 64 << 10

// Guess returns the name of the charset that sample most likely is in, or ""
// if it looks like no text at all. It looks at the first 64 KiB. What it
// returns decodes the sample without an error, so advice to use it works at
// least there.
func Guess(sample []byte) string {
	partial := len(sample) >= sampleSize
	sample = sample[:min(len(sample), sampleSize)]
	if foreignBytes(sample) > 0 && plausible(sample, Charset{}, partial) {
		return utf8Name
	}
	best, most := guessWide(sample), 0
	if best != "" {
		return best
	}
	for _, s := range scripts {
		if n := s.count(sample); n > most {
			best, most = s.charset, n
		}
	}
	if best != "" {
		return best
	}
	for _, name := range candidates(sample) {
		cs, err := Lookup(name)
		if err != nil || !plausible(sample, cs, partial) {
			continue
		}
		text, _ := decodeSample(sample, cs, true)
		if common, _ := decodeSample(sample, mustLookup(latin), true); cs.width() == 1 && !cs.isUTF8() && bytes.Equal(text, common) {
			return latin // as German is the same text in Turkish charsets
		}
		return cs.Name()
	}
	return ""
}

// latin is the charset most common on disks.
const latin = "windows-1252"

// decodeSample returns a sample as text, with no character that it ends in the middle
// of if it is partial. It is not ok if something in it cannot be decoded.
func decodeSample(sample []byte, cs Charset, partial bool) (text []byte, ok bool) {
	if !partial {
		text, bad := decode(cs, sample)
		return text, bad < 0
	}
	text, _, bad := decodePrefix(cs, sample, 4*len(sample))
	return text, bad < 0
}

// scripts are the charsets that are recognized by the script of their text, of which
// the detector needs more than a short text has.
var scripts = [...]script{
	{"shift_jis", unicode.Hiragana, 3, 20}, {"euc-jp", unicode.Hiragana, 3, 20},
	{"windows-1251", unicode.Cyrillic, 4, 80}, {"koi8-r", unicode.Cyrillic, 4, 80},
}

type script struct {
	charset string
	letters *unicode.RangeTable
	least   int // letters of the script that it takes
	share   int // per cent of what is not ASCII that they are at least
}

// count returns how many letters of the script, not capitals, sample has if it is in the
// charset, or 0 if it does not look so: Latin text read so has its odd letters inside
// words of ASCII, and in the wrong one of the two Cyrillic charsets capitals and small
// letters change places.
func (s script) count(sample []byte) int {
	text, ok := decodeSample(sample, mustLookup(s.charset), true)
	small, letters, mixed, foreign := 0, 0, 0, 0
	var before rune
	for _, r := range string(text) {
		if r >= utf8.RuneSelf {
			foreign++
		}
		if unicode.Is(s.letters, r) {
			letters++
			if !unicode.IsUpper(r) {
				small++
			}
			if before < utf8.RuneSelf && unicode.IsLetter(before) {
				mixed++
			}
		}
		before = r
	}
	if !ok || letters < s.least || letters*100 < s.share*foreign || mixed*4 > letters || small*2 <= letters {
		return 0
	}
	return small
}

// Confidences in per cent from which the detector is trusted, and how many bytes beyond
// ASCII it takes: the charsets of Latin letters are hard to tell apart.
const (
	sure       = 30
	sureLatin  = 60
	fewForeign = 8
)

func foreignBytes(sample []byte) (n int) {
	for _, c := range sample {
		if c >= utf8.RuneSelf {
			n++
		}
	}
	return n
}

// candidates returns what to try, best first: what the detector is sure of, the charset
// most common on disks, and the rest.
func candidates(sample []byte) []string {
	found, _ := chardet.NewTextDetector().DetectAll(sample) // none if it fails
	var names, doubtful []string
	for _, r := range found {
		name := strings.ToLower(r.Charset)
		trusted := r.Confidence >= sure
		switch name {
		case "iso-8859-1":
			name = latin
		case "gb18030":
			name = "gbk"
		case "windows-1250", "windows-1254", "iso-8859-2", "iso-8859-9":
			trusted = r.Confidence >= sureLatin && foreignBytes(sample) >= fewForeign
		}
		if trusted {
			names = append(names, name)
		} else {
			doubtful = append(doubtful, name)
		}
	}
	return slices.Concat(names, []string{latin}, doubtful)
}

// guessWide returns the charset of two or four bytes a character that fits a
// file beginning with head, which has NUL bytes in it, or "".
func guessWide(head []byte) string {
	partial := len(head) >= binaryProbe
	head = head[:len(head)&^3]
	// Text in these charsets is full of zero bytes, at least in its spaces and
	// line feeds; a stray one is not enough.
	if bytes.Count(head, []byte{0})*16 < len(head) || len(head) == 0 {
		return ""
	}
	for _, name := range []string{utf32Name, utf16Name} {
		if cs, _ := mustLookup(name).resolve(head); plausible(head, cs, partial) {
			return cs.Name()
		}
	}
	return ""
}

// plausible reports whether sample, which ends in the middle of a character
// if it is partial, decodes as cs and comes out as text: hardly any control,
// unassigned or private characters.
func plausible(sample []byte, cs Charset, partial bool) bool {
	cs, bom := cs.resolve(sample)
	text, ok := decodeSample(sample[bom:], cs, partial)
	odd, all := 0, 0
	for _, r := range string(text) {
		all++
		if !unicode.IsGraphic(r) && !unicode.In(r, unicode.Cf) && !strings.ContainsRune("\t\n\v\f\r\x1b", r) {
			odd++
		}
	}
	return ok && all > 0 && odd*50 <= all && bytes.IndexByte(text, 0) < 0
}
