package picture_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"github.com/toolserver/toolserver/text/picture"
)

// webp1x1 is a WebP image of one pixel.
const webp1x1 = "UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAQAcJaQAA3AA/v3AgAA="

func fit(data []byte, mime string) (picture.Picture, error) {
	return picture.Fit(context.Background(), bytes.NewReader(data), int64(len(data)), mime)
}

func encoded(t testing.TB, mime string, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch mime {
	case "image/png":
		err = png.Encode(&b, m)
	case "image/gif":
		err = gif.Encode(&b, m, nil)
	default:
		err = jpeg.Encode(&b, m, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func noise(w, h int) image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	r := rand.NewChaCha8([32]byte{})
	_, _ = r.Read(m.Pix)
	return m
}

// halves is red on the left and clear on the right.
func halves(w, h int) image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w / 2 {
			m.Set(x, y, color.NRGBA{R: 200, A: 255})
		}
	}
	return m
}

func TestFit(t *testing.T) {
	webp, err := base64.StdEncoding.DecodeString(webp1x1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, mime string
		data       []byte
		shown      string
		w, h       int
	}{
		{"small png", "image/png", encoded(t, "image/png", halves(300, 200)), "image/png", 300, 200},
		{"at the edge", "image/jpeg", encoded(t, "image/jpeg", halves(1568, 10)), "image/jpeg", 1568, 10},
		{"webp", "image/webp", webp, "image/webp", 1, 1},
		{"wide png", "image/png", encoded(t, "image/png", halves(2000, 1500)), "image/png", 1568, 1176},
		{"tall jpeg", "image/jpeg", encoded(t, "image/jpeg", halves(400, 2000)), "image/jpeg", 314, 1568},
		{"thin", "image/gif", encoded(t, "image/gif", halves(9000, 2)), "image/png", 1568, 1},
		{"too many bytes", "image/png", encoded(t, "image/png", noise(1100, 1100)), "image/jpeg", 1100, 1100},
		{"gray with 16 bits", "image/png", encoded(t, "image/png", image.NewGray16(image.Rect(0, 0, 1600, 1600))), "image/png", 1568, 1568},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := fit(c.data, c.mime)
			if err != nil || p.MIME != c.shown || p.Shown != [2]int{c.w, c.h} || len(p.Data) > picture.MaxBytes {
				t.Fatalf("%s %v, %d bytes, %v", p.MIME, p.Shown, len(p.Data), err)
			}
			if p.Scaled(c.mime) == bytes.Equal(p.Data, c.data) {
				t.Errorf("scaled: %v", p.Scaled(c.mime))
			}
			if config, kind, err := image.DecodeConfig(bytes.NewReader(p.Data)); c.mime != "image/webp" && (err != nil || "image/"+kind != c.shown || config.Width != c.w || config.Height != c.h) {
				t.Errorf("%s %+v %v", kind, config, err)
			}
		})
	}
	p, err := fit(encoded(t, "image/png", halves(2000, 1500)), "image/png")
	if err != nil {
		t.Fatal(err)
	}
	m, err := png.Decode(bytes.NewReader(p.Data))
	if err != nil {
		t.Fatal(err)
	}
	left, right := color.NRGBAModel.Convert(m.At(10, 600)), color.NRGBAModel.Convert(m.At(1500, 600))
	if left != (color.NRGBA{R: 200, A: 255}) || right != (color.NRGBA{}) {
		t.Errorf("colors are %v and %v", left, right)
	}
}

// TestOrientation keeps what says how a photo is turned.
func TestOrientation(t *testing.T) {
	exif := append([]byte{0xFF, 0xE1, 0, 16}, "Exif\x00\x00abcdefgh"...)
	data := encoded(t, "image/jpeg", halves(2000, 1000))
	p, err := fit(append(append([]byte{0xFF, 0xD8}, exif...), data[2:]...), "image/jpeg")
	if err != nil || p.Shown != [2]int{1568, 784} || !bytes.Equal(p.Data[2:2+len(exif)], exif) {
		t.Errorf("%v %v %q", p.Shown, err, p.Data[:min(30, len(p.Data))])
	}
}

// grayTIFF is a TIFF of 8-bit gray, turned as a camera says, with a further image or not.
func grayTIFF(w, h, orientation int, next uint32, pix []byte) []byte {
	le := binary.LittleEndian
	b := []byte("II*\x00\x08\x00\x00\x00")
	entries := [][2]int{{256, w}, {257, h}, {258, 8}, {259, 1}, {262, 1}, {273, 0}, {274, orientation}, {277, 1}, {278, h}, {279, len(pix)}}
	b = le.AppendUint16(b, uint16(len(entries)))
	for _, e := range entries {
		if e[0] == 273 {
			e[1] = 8 + 2 + 12*len(entries) + 4
		}
		b = le.AppendUint32(le.AppendUint32(le.AppendUint16(le.AppendUint16(b, uint16(e[0])), 4), 1), uint32(e[1]))
	}
	return append(le.AppendUint32(b, next), pix...)
}

// icon is an icon of images.
func icon(images ...[]byte) []byte {
	le := binary.LittleEndian
	b := le.AppendUint16([]byte{0, 0, 1, 0}, uint16(len(images)))
	at := 6 + 16*len(images)
	for i, m := range images {
		b = append(b, byte(16*(i+1)), byte(16*(i+1)), 0, 0, 1, 0, 32, 0)
		b = le.AppendUint32(le.AppendUint32(b, uint32(len(m))), uint32(at))
		at += len(m)
	}
	return append(b, bytes.Join(images, nil)...)
}

// What models do not take is shown as PNG.
func TestConverted(t *testing.T) {
	var tiffs, bmps, half bytes.Buffer
	for _, err := range []error{tiff.Encode(&tiffs, halves(20, 10), nil), bmp.Encode(&bmps, halves(20, 10)), bmp.Encode(&half, halves(32, 64))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	dib := half.Bytes()[14:]                  // the lower half is the mask
	wide := []byte{0, 100, 200, 50, 150, 250} // 3 x 2
	for _, c := range []struct {
		name, mime string
		data       []byte
		w, h       int
		first      uint8 // red of the first pixel
		more       bool
	}{
		{"tiff", "image/tiff", tiffs.Bytes(), 20, 10, 200, false},
		{"bmp", "image/bmp", bmps.Bytes(), 20, 10, 200, false},
		{"icon of png", "image/x-icon", icon(encoded(t, "image/png", halves(16, 16)), encoded(t, "image/png", halves(32, 32))), 32, 32, 200, false},
		{"icon of bitmap", "image/x-icon", icon(encoded(t, "image/png", halves(16, 16)), dib), 32, 32, 200, false},
		{"not turned", "image/tiff", grayTIFF(3, 2, 1, 0, wide), 3, 2, 0, false},
		{"mirrored", "image/tiff", grayTIFF(3, 2, 2, 0, wide), 3, 2, 200, false},
		{"upside down", "image/tiff", grayTIFF(3, 2, 3, 0, wide), 3, 2, 250, false},
		{"flipped", "image/tiff", grayTIFF(3, 2, 4, 0, wide), 3, 2, 50, false},
		{"transposed", "image/tiff", grayTIFF(3, 2, 5, 0, wide), 2, 3, 0, false},
		{"turned right", "image/tiff", grayTIFF(3, 2, 6, 0, wide), 2, 3, 50, false},
		{"transversed", "image/tiff", grayTIFF(3, 2, 7, 0, wide), 2, 3, 250, false},
		{"turned left", "image/tiff", grayTIFF(3, 2, 8, 0, wide), 2, 3, 200, false},
		{"two pages", "image/tiff", grayTIFF(3, 2, 1, 8, wide), 3, 2, 0, true},
	} {
		p, err := fit(c.data, c.mime)
		if err != nil || p.MIME != "image/png" || p.Shown != [2]int{c.w, c.h} || p.More != c.more || !p.Scaled(c.mime) {
			t.Errorf("%s: %s %v %v %v", c.name, p.MIME, p.Shown, p.More, err)
			continue
		}
		m, err := png.Decode(bytes.NewReader(p.Data))
		if err != nil {
			t.Fatal(err)
		}
		if got := color.NRGBAModel.Convert(m.At(0, 0)).(color.NRGBA).R; got != c.first {
			t.Errorf("%s: the first pixel is %d, want %d", c.name, got, c.first)
		}
	}
}

func TestRefused(t *testing.T) {
	good := encoded(t, "image/png", halves(300, 200))
	bomb := bytes.Clone(good)
	binary.BigEndian.PutUint32(bomb[16:], 30_000)
	binary.BigEndian.PutUint32(bomb[20:], 30_000)
	fixCRC(bomb)
	progressive := encoded(t, "image/jpeg", halves(16, 16))
	at := bytes.Index(progressive, []byte{0xFF, 0xC0})
	progressive[at+1] = 0xC2
	binary.BigEndian.PutUint16(progressive[at+5:], 5000)
	binary.BigEndian.PutUint16(progressive[at+7:], 5000)
	for _, c := range []struct {
		name, mime string
		data       []byte
		limit      bool
		want       string
	}{
		{"signature only", "image/png", good[:8], false, "is not a whole image/png image"},
		{"cut", "image/png", good[:len(good)/2], false, "is not a whole image/png image"},
		{"too many pixels", "image/png", bomb, true, "30000 x 30000 pixels"},
		{"progressive", "image/jpeg", progressive, true, "5000 x 5000 pixels"},
		{"text", "image/jpeg", []byte("\xFF\xD8\xFFhello"), false, "is not a whole image/jpeg image"},
		{"unknown", "image/x-icon", good, false, "image: unknown format"},
		{"icon of nothing", "image/x-icon", icon([]byte("x")), false, "image: unknown format"},
		{"cut icon", "image/x-icon", icon(good)[:40], false, "image: unknown format"},
		{"long", "image/tiff", grayTIFF(1, 1_000_000, 1, 0, nil), true, "1 x 1000000 pixels"},
		{"many pixels of a tiff", "image/tiff", grayTIFF(30_000, 30_000, 1, 0, nil), true, "30000 x 30000 pixels"},
		{"cut tiff", "image/tiff", grayTIFF(300, 300, 1, 0, make([]byte, 9)), false, "is not a whole image/tiff image"},
		{"nothing", "image/gif", nil, false, "is not a whole image/gif image"},
		{"large file", "image/png", append(good, make([]byte, 64<<20)...), true, "at most 67108864 are decoded"},
	} {
		_, err := fit(c.data, c.mime)
		_, limit := errors.AsType[*picture.LimitError](err)
		_, format := errors.AsType[*picture.FormatError](err)
		if err == nil || limit != c.limit || format == c.limit || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := picture.Fit(over, bytes.NewReader(good), int64(len(good)), "image/png"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// FuzzFit decodes what looks like an image. What it returns is within the bounds.
func FuzzFit(f *testing.F) {
	webp, _ := base64.StdEncoding.DecodeString(webp1x1)
	for _, data := range [][]byte{encoded(f, "image/png", halves(20, 10)), encoded(f, "image/jpeg", halves(20, 10)), encoded(f, "image/gif", halves(20, 10)), webp} {
		f.Add(data)
	}
	f.Add(grayTIFF(3, 2, 6, 8, []byte("abcdef")))
	f.Add(icon(encoded(f, "image/png", halves(16, 16)), make([]byte, 60)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, mime := range []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/tiff", "image/bmp", "image/x-icon"} {
			if p, err := fit(data, mime); err == nil && (len(p.Data) > picture.MaxBytes || max(p.Shown[0], p.Shown[1]) > picture.MaxEdge) {
				t.Errorf("%s: %v, %d bytes", mime, p.Shown, len(p.Data))
			}
		}
	})
}

// fixCRC makes the checksum of the first chunk of a PNG right.
func fixCRC(png []byte) {
	binary.BigEndian.PutUint32(png[29:], crc32.ChecksumIEEE(png[12:29]))
}
