package textfile

import (
	"strings"
	"sync"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// Names of the charsets that a byte order mark can tell.
const (
	utf8Name    = "utf-8"
	utf16Name   = "utf-16" // byte order from the file
	utf16leName = "utf-16le"
	utf16beName = "utf-16be"
	utf32Name   = "utf-32" // byte order from the file
	utf32leName = "utf-32le"
	utf32beName = "utf-32be"
)

// row is a charset with its aliases, squeezed and separated by spaces. The
// squeezed name is an alias of itself.
type row struct {
	name    string
	enc     encoding.Encoding
	aliases string
}

func (r *row) charset() Charset {
	switch r.name {
	case utf8Name:
		return Charset{}
	case utf16Name, utf32Name:
		return Charset{name: r.name}
	}
	return custom(r.name, r.enc)
}

// aliases maps squeezed names to charsets. It is built on first use, because
// most runs of the program never need it.
var aliases = sync.OnceValue(func() map[string]*row {
	all := make(map[string]*row, 256)
	for _, table := range [][]row{unicodeRows(), windowsRows(), isoRows(), dosRows(), asianRows()} {
		for i := range table {
			r := &table[i]
			all[squeeze(r.name)] = r
			for alias := range strings.FieldsSeq(r.aliases) {
				all[alias] = r
			}
		}
	}
	return all
})

func unicodeRows() []row {
	// The error cannot happen: x/text registers US-ASCII.
	ascii, _ := ianaindex.IANA.Encoding("US-ASCII")
	return []row{
		{utf8Name, nil, "utf8sig utf u8 cp65001 unicode11utf8 utf8bom"},
		{utf16Name, nil, "u16 unicode ucs2"},
		{utf16leName, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "ucs2le unicodelittleunmarked cp1200"},
		{utf16beName, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "ucs2be unicodebigunmarked cp1201"},
		{utf32Name, nil, "u32 ucs4"},
		{utf32leName, utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), "ucs4le cp12000"},
		{utf32beName, utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM), "ucs4be cp12001"},
		{"us-ascii", ascii, "ascii 646 us cp20127 cp367"},
	}
}

func windowsRows() []row {
	return []row{
		{"windows-1250", charmap.Windows1250, "cp1250 win1250 1250"},
		{"windows-1251", charmap.Windows1251, "cp1251 win1251 1251"},
		{"windows-1252", charmap.Windows1252, "cp1252 win1252 1252 ansi"},
		{"windows-1253", charmap.Windows1253, "cp1253 win1253 1253"},
		{"windows-1254", charmap.Windows1254, "cp1254 win1254 1254"},
		{"windows-1255", charmap.Windows1255, "cp1255 win1255 1255"},
		{"windows-1256", charmap.Windows1256, "cp1256 win1256 1256"},
		{"windows-1257", charmap.Windows1257, "cp1257 win1257 1257"},
		{"windows-1258", charmap.Windows1258, "cp1258 win1258 1258"},
		{"windows-874", charmap.Windows874, "cp874 win874 874 tis620 thai iso885911"},
		{"macintosh", charmap.Macintosh, "macroman mac xmacroman cp10000"},
		{"x-mac-cyrillic", charmap.MacintoshCyrillic, "maccyrillic xmacukrainian cp10007"},
		{"koi8-r", charmap.KOI8R, "cp20866 koi8 koi"},
		{"koi8-u", charmap.KOI8U, "cp21866"},
	}
}

func isoRows() []row {
	return []row{
		{"iso-8859-1", charmap.ISO8859_1, "latin1 l1 latin 88591 8859 cp819 cp28591 iso8859"},
		{"iso-8859-2", charmap.ISO8859_2, "latin2 l2 88592 cp28592"},
		{"iso-8859-3", charmap.ISO8859_3, "latin3 l3 88593 cp28593"},
		{"iso-8859-4", charmap.ISO8859_4, "latin4 l4 88594 cp28594"},
		{"iso-8859-5", charmap.ISO8859_5, "cyrillic 88595 cp28595"},
		{"iso-8859-6", charmap.ISO8859_6, "arabic 88596 cp28596"},
		{"iso-8859-7", charmap.ISO8859_7, "greek greek8 88597 cp28597"},
		{"iso-8859-8", charmap.ISO8859_8, "hebrew 88598 cp28598"},
		{"iso-8859-9", charmap.ISO8859_9, "latin5 l5 88599 cp28599"},
		{"iso-8859-10", charmap.ISO8859_10, "latin6 l6 885910"},
		{"iso-8859-13", charmap.ISO8859_13, "latin7 l7 885913"},
		{"iso-8859-14", charmap.ISO8859_14, "latin8 l8 885914"},
		{"iso-8859-15", charmap.ISO8859_15, "latin9 latin0 l9 885915 cp28605"},
		{"iso-8859-16", charmap.ISO8859_16, "latin10 l10 885916"},
	}
}

func dosRows() []row {
	return []row{
		{"ibm437", charmap.CodePage437, "cp437 437 dos"},
		{"ibm850", charmap.CodePage850, "cp850 850"},
		{"ibm852", charmap.CodePage852, "cp852 852"},
		{"ibm855", charmap.CodePage855, "cp855 855"},
		{"ibm00858", charmap.CodePage858, "cp858 858 ibm858"},
		{"ibm860", charmap.CodePage860, "cp860 860"},
		{"ibm862", charmap.CodePage862, "cp862 862"},
		{"ibm863", charmap.CodePage863, "cp863 863"},
		{"ibm865", charmap.CodePage865, "cp865 865"},
		{"ibm866", charmap.CodePage866, "cp866 866"},
		{"ibm037", charmap.CodePage037, "cp037 cp37 037 ebcdic"},
		{"ibm1047", charmap.CodePage1047, "cp1047 1047"},
		{"ibm01140", charmap.CodePage1140, "cp1140 1140 ibm1140"},
	}
}

func asianRows() []row {
	return []row{
		{"shift_jis", japanese.ShiftJIS, "sjis xsjis cp932 932 ms932 mskanji windows31j"},
		{"euc-jp", japanese.EUCJP, "ujis xeucjp cp51932"},
		{"iso-2022-jp", japanese.ISO2022JP, "jis csiso2022jp cp50220"},
		{"gbk", simplifiedchinese.GBK, "cp936 936 ms936 gb2312 gb231280 euccn windows936"},
		{"gb18030", simplifiedchinese.GB18030, "gb180302000 cp54936"},
		{"hz-gb-2312", simplifiedchinese.HZGB2312, "hz hzgb"},
		{"big5", traditionalchinese.Big5, "big5tw cp950 950 big5hkscs hkscs"},
		{"euc-kr", korean.EUCKR, "korean cp949 949 ms949 uhc ksc56011987 ksx1001 windows949"},
	}
}
