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

	"toolserver/tools/files/picture"
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
		{"unknown", "image/x-icon", good, false, "is not decoded"},
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
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, mime := range []string{"image/png", "image/jpeg", "image/gif", "image/webp"} {
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
