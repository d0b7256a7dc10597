package textfile

import (
	"bytes"
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
	for _, name := range []string{"shift_jis", "euc-jp"} {
		if looksJapanese(sample, name) {
			return name
		}
	}
	if name := cyrillic(sample); name != "" {
		return name
	}
	for _, name := range candidates(sample) {
		cs, err := Lookup(name)
		if err != nil || !plausible(sample, cs, partial) {
			continue
		}
		if common := mustLookup("windows-1252"); sameText(sample, cs, common) {
			return common.Name()
		}
		return cs.Name()
	}
	return ""
}

// decodeSample returns a sample as text, with no character that it ends in the middle
// of. It is not ok if something in it cannot be decoded.
func decodeSample(sample []byte, cs Charset) (text []byte, ok bool) {
	text, _, bad := newDecoder(cs).prefix(sample, 4*len(sample))
	return text, bad < 0
}

// looksJapanese recognizes Japanese by its hiragana, of which the detector
// needs more than a short text has. Other text makes none when it is read in a
// Japanese charset.
func looksJapanese(sample []byte, charset string) bool {
	text, ok := decodeSample(sample, mustLookup(charset))
	hiragana, foreign := 0, 0
	for _, r := range string(text) {
		if r >= utf8.RuneSelf {
			foreign++
		}
		if unicode.Is(unicode.Hiragana, r) {
			hiragana++
		}
	}
	return ok && hiragana >= 3 && hiragana*5 >= foreign
}

// cyrillic returns the charset in which the words of sample are Cyrillic, or "".
// The detector needs much text for that. Here little is enough: Latin text
// read so has its odd letters inside words of ASCII, and in the wrong one of the
// two charsets capitals and small letters change places.
func cyrillic(sample []byte) string {
	best, most := "", 0
	for _, name := range []string{"windows-1251", "koi8-r"} {
		text, ok := decodeSample(sample, mustLookup(name))
		small, letters, mixed, others := 0, 0, 0, 0
		var before rune
		for _, r := range string(text) {
			switch {
			case unicode.Is(unicode.Cyrillic, r):
				letters++
				if unicode.IsLower(r) {
					small++
				}
				if before < utf8.RuneSelf && unicode.IsLetter(before) {
					mixed++
				}
			case r >= utf8.RuneSelf:
				others++
			}
			before = r
		}
		if ok && letters >= 4 && mixed*20 <= letters && others*5 <= letters && small*2 > letters && small > most {
			best, most = name, small
		}
	}
	return best
}

// sameText reports whether sample is the same text in both charsets, as German
// is in Turkish ones.
func sameText(sample []byte, a, b Charset) bool {
	if a.width() != 1 || a.isUTF8() {
		return false
	}
	inA, _ := decodeSample(sample, a)
	inB, _ := decodeSample(sample, b)
	return bytes.Equal(inA, inB)
}

// Confidences in per cent from which the detector is trusted. The charsets of Latin
// letters are hard to tell apart.
const (
	sure      = 30
	sureLatin = 60
)

// fewForeign is how many bytes beyond ASCII it takes to tell Latin charsets
// apart at all.
const fewForeign = 8

func foreignBytes(sample []byte) (n int) {
	for _, c := range sample {
		if c >= utf8.RuneSelf {
			n++
		}
	}
	return n
}

// candidates returns what to try, best first. The charset most common on disks
// is what is left when the detector is not sure.
func candidates(sample []byte) []string {
	const common = "windows-1252"
	found, err := chardet.NewTextDetector().DetectAll(sample)
	if err != nil {
		return []string{common}
	}
	var names, doubtful []string
	few := foreignBytes(sample) < fewForeign
	for _, r := range found {
		name, enough := strings.ToLower(r.Charset), sure
		switch name {
		case "iso-8859-1":
			name = common
		case "gb18030":
			name = "gbk"
		case "windows-1250", "windows-1254", "iso-8859-2", "iso-8859-9":
			enough = sureLatin
		}
		if r.Confidence >= enough && !(few && enough == sureLatin) {
			names = append(names, name)
		} else {
			doubtful = append(doubtful, name)
		}
	}
	return append(append(names, common), doubtful...)
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
	for _, name := range []string{utf32Order(head), utf16Order(head)} {
		if plausible(head, mustLookup(name), partial) {
			return name
		}
	}
	return ""
}

// plausible reports whether sample, which ends in the middle of a character
// if it is partial, decodes as cs and comes out as text: hardly any control,
// unassigned or private characters.
func plausible(sample []byte, cs Charset, partial bool) bool {
	cs, bom := cs.resolve(sample)
	sample = sample[bom:]
	text, bad := sample, -1
	switch {
	case cs.isUTF8():
		bad = invalidUTF8(sample)
	case !partial:
		text, bad = newDecoder(cs).append(nil, sample)
	default:
		text, _, bad = newDecoder(cs).prefix(sample, 4*len(sample))
	}
	if bad >= 0 && !(partial && len(sample)-bad < utf8.UTFMax) {
		return false
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return false
	}
	odd, all := 0, 0
	for _, r := range string(text) {
		all++
		if !unicode.IsGraphic(r) && !unicode.In(r, unicode.Cf) && !bytes.ContainsRune([]byte("\t\n\v\f\r\x1b"), r) {
			odd++
		}
	}
	return all > 0 && odd*50 <= all
}
