// Package picture makes images fit for models: it decodes them to see that they are whole,
// and scales down what is larger than model APIs take. A file comes from strangers, so
// what decoding costs is bounded before it begins.
package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // for image.Decode, as those below
	"image/jpeg"
	"image/png"
	"io"
	"slices"
	"strings"

	_ "golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"
)

const (
	// MaxEdge is the longest edge in pixels that is shown. Anthropic's models see no more
	// of an image, and its API refuses 8,000.
	MaxEdge = 1568
	// MaxBytes is how large an image is that is shown: 5 MiB as base64, the limit of
	// Anthropic's API.
	MaxBytes = 5 << 20 / 4 * 3

	maxFile   = 64 << 20
	maxMemory = 256 << 20 // of the decoded image
	maxLong   = 1 << 16   // pixels of the longest edge
)

// Picture is an image for a model.
type Picture struct {
	Data          []byte
	MIME          string
	Width, Height int    // in pixels, of the file
	Shown         [2]int // those of Data
	More          bool   // the file has further images
}

// Scaled reports whether Data is not the file itself.
func (p *Picture) Scaled(original string) bool {
	return p.Shown != [2]int{p.Width, p.Height} || p.MIME != original
}

// LimitError says that an image is larger than is decoded.
type LimitError struct{ reason string }

func (e *LimitError) Error() string { return e.reason }

// FormatError says that a file is no image of its kind, or not all of one.
type FormatError struct {
	MIME string
	Err  error
}

func (e *FormatError) Error() string {
	if strings.Contains(e.Err.Error(), "unsupported") {
		return fmt.Sprintf("is an %s image of a form that is not decoded: %v", e.MIME, e.Err)
	}
	return fmt.Sprintf("is not a whole %s image: %v", e.MIME, e.Err)
}

// Unwrap returns what was wrong.
func (e *FormatError) Unwrap() error { return e.Err }

// Fit reads the image of size bytes that r has, and makes it fit. The error is a
// [*LimitError], a [*FormatError] or that of r or ctx.
func Fit(ctx context.Context, r io.ReaderAt, size int64, mime string) (Picture, error) {
	if size > maxFile {
		return Picture{}, &LimitError{fmt.Sprintf("it has %d bytes; at most %d are decoded", size, maxFile)}
	}
	data := make([]byte, size)
	if _, err := r.ReadAt(data, 0); err != nil && err != io.EOF {
		return Picture{}, err
	}
	if mime == "image/x-icon" && len(data) > 6 {
		mime, data = icon(data)
	}
	shown := mime != "image/tiff" && mime != "image/bmp" // by models
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return Picture{}, &FormatError{mime, err}
	}
	p := Picture{Data: data, MIME: mime, Width: config.Width, Height: config.Height, Shown: [2]int{config.Width, config.Height}}
	var exif []byte
	perPixel := bytesPerPixel(config.ColorModel)
	if mime == "image/jpeg" {
		var progressive bool
		if exif, progressive = jpegHeader(data); progressive {
			perPixel = 15 // all coefficients of three components
		}
	}
	if pixels := int64(config.Width) * int64(config.Height); pixels*perPixel > maxMemory || max(p.Width, p.Height) > maxLong {
		return p, &LimitError{fmt.Sprintf("it has %d x %d pixels, which take %d MiB decoded; at most %d, and an edge of %d, are decoded",
			p.Width, p.Height, pixels*perPixel>>20, maxMemory>>20, maxLong)}
	}
	img, _, err := image.Decode(&reader{ctx, bytes.NewReader(data)})
	if ctx.Err() != nil {
		return p, ctx.Err()
	}
	if err != nil {
		return p, &FormatError{mime, err}
	}
	if shown && max(p.Width, p.Height) <= MaxEdge && len(data) <= MaxBytes {
		return p, nil
	}
	orientation := 1
	if mime == "image/tiff" {
		orientation, p.More = tiffHeader(data)
	}
	return p.shrink(ctx, img, exif, orientation)
}

// bytesPerPixel returns what a decoded pixel takes at most.
func bytesPerPixel(m color.Model) int64 {
	switch m {
	case color.GrayModel:
		return 1
	case color.YCbCrModel:
		return 3
	case color.RGBA64Model, color.NRGBA64Model, color.NYCbCrAModel:
		return 8
	}
	if _, palette := m.(color.Palette); palette {
		return 1
	}
	return 4
}

// reader is data whose reading ends with a context.
type reader struct {
	ctx context.Context
	*bytes.Reader
}

func (r *reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}

// shrink replaces the data with a copy that fits: JPEG stays JPEG, everything else becomes
// PNG, or JPEG where that is too large.
func (p *Picture) shrink(ctx context.Context, img image.Image, exif []byte, orientation int) (Picture, error) {
	w, h := fitting(p.Width, p.Height)
	small, err := scale(ctx, img, w, h)
	if err != nil {
		return *p, err
	}
	small = turn(small, orientation)
	shown := Picture{Width: p.Width, Height: p.Height, Shown: [2]int{small.Rect.Dx(), small.Rect.Dy()}, More: p.More}
	var b bytes.Buffer
	if p.MIME != "image/jpeg" {
		if err := png.Encode(&b, small); err != nil {
			return *p, err
		}
		if shown.Data, shown.MIME = b.Bytes(), "image/png"; len(shown.Data) <= MaxBytes {
			return shown, nil
		}
	}
	paper := image.NewRGBA(small.Bounds())
	draw.Draw(paper, paper.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(paper, paper.Bounds(), small, image.Point{}, draw.Over)
	b = bytes.Buffer{}
	if err := jpeg.Encode(&b, paper, &jpeg.Options{Quality: 85}); err != nil {
		return *p, err
	}
	shown.Data, shown.MIME = withEXIF(b.Bytes(), exif), "image/jpeg"
	return shown, nil
}

// fitting returns the size that an image gets.
func fitting(w, h int) (int, int) {
	if long := max(w, h); long > MaxEdge {
		return max(1, (w*MaxEdge+long/2)/long), max(1, (h*MaxEdge+long/2)/long)
	}
	return w, h
}

// icon returns the largest image of an icon, as a file of its own: a PNG or, without its mask, a BMP; "" if there is none.
func icon(data []byte) (mime string, file []byte) {
	widest, little := 0, binary.LittleEndian
	for at := 6; at+16 <= len(data) && at < 6+16*int(little.Uint16(data[4:])); at += 16 {
		entry := data[at:]
		from, size := int64(little.Uint32(entry[12:])), int64(little.Uint32(entry[8:]))
		if width := int(entry[0]-1) + 1; width > widest && size >= 40 && from+size <= int64(len(data)) {
			widest, file = width, data[from:from+size]
		}
	}
	switch {
	case widest == 0:
		return "", nil
	case bytes.HasPrefix(file, []byte("\x89PNG")):
		return "image/png", file
	}
	colors := little.Uint32(file[32:])
	if bits := little.Uint16(file[14:]); colors == 0 && bits <= 8 {
		colors = 1 << bits
	}
	head := little.AppendUint32([]byte("BM\x00\x00\x00\x00\x00\x00\x00\x00"), 14+40+4*colors)
	file = slices.Concat(head, file)
	little.PutUint32(file[14+8:], little.Uint32(file[14+8:])/2) // the height counts the mask, too
	return "image/bmp", file
}

// scale returns src with w x h pixels. It narrows bands of rows and then shortens bands of columns, because a kernel
// takes 32 bytes for each pixel in between.
func scale(ctx context.Context, src image.Image, w, h int) (*image.RGBA, error) {
	const band = 32
	from := src.Bounds()
	narrow, dst := image.NewRGBA(image.Rect(0, 0, w, from.Dy())), image.NewRGBA(image.Rect(0, 0, w, h))
	narrower, shorter := draw.CatmullRom.NewScaler(w, band, from.Dx(), band), draw.CatmullRom.NewScaler(band, h, band, from.Dy())
	for y := 0; y < from.Dy() && ctx.Err() == nil; y += band {
		rows := image.Rect(0, y, from.Dx(), min(y+band, from.Dy()))
		narrower.Scale(narrow, image.Rect(0, y, w, rows.Max.Y), src, rows.Add(from.Min), draw.Src, nil)
	}
	for x := 0; x < w && ctx.Err() == nil; x += band {
		to := min(x+band, w)
		shorter.Scale(dst, image.Rect(x, 0, to, h), narrow, image.Rect(x, 0, to, from.Dy()), draw.Src, nil)
	}
	return dst, ctx.Err()
}

// tiffHeader returns how the first image of a TIFF is turned (tag 274: 1 if it is not) and whether there are others.
func tiffHeader(data []byte) (orientation int, more bool) {
	order := binary.ByteOrder(binary.LittleEndian)
	if data[0] == 'M' {
		order = binary.BigEndian
	}
	at, orientation := int64(order.Uint32(data[4:])), 1
	if at+2 > int64(len(data)) {
		return orientation, false
	}
	entries := data[at+2:]
	for range order.Uint16(data[at:]) {
		if len(entries) < 12 {
			return orientation, false
		}
		if order.Uint16(entries) == 274 {
			orientation = int(order.Uint16(entries[8:]))
		}
		entries = entries[12:]
	}
	return orientation, len(entries) >= 4 && order.Uint32(entries) != 0
}

// turn returns an image as it is to be seen.
func turn(m *image.RGBA, orientation int) *image.RGBA {
	if orientation < 2 || orientation > 8 {
		return m
	}
	w, h := m.Rect.Dx(), m.Rect.Dy()
	to := image.NewRGBA(image.Rect(0, 0, w, h))
	if orientation >= 5 {
		to = image.NewRGBA(image.Rect(0, 0, h, w))
	}
	for y := range h {
		for x := range w {
			toX, toY := x, y
			if slices.Contains([]int{2, 3, 7, 8}, orientation) {
				toX = w - 1 - x
			}
			if slices.Contains([]int{3, 4, 6, 7}, orientation) {
				toY = h - 1 - y
			}
			if orientation >= 5 {
				toX, toY = toY, toX
			}
			to.SetRGBA(toX, toY, m.RGBAAt(x, y))
		}
	}
	return to
}

// Markers of JPEG.
const (
	startOfImage  = 0xD8
	startOfScan   = 0xDA
	app1          = 0xE1 // EXIF, which says among other things how a photo is turned
	startOfFrame2 = 0xC2
)

// jpegHeader returns the EXIF segment of an image, whole with its marker, and whether the
// image is progressive.
func jpegHeader(data []byte) (exif []byte, progressive bool) {
	for at := 2; at+4 <= len(data) && data[at] == 0xFF; {
		marker, n := data[at+1], 2+int(binary.BigEndian.Uint16(data[at+2:]))
		if marker == startOfScan || at+n > len(data) {
			break
		}
		switch {
		case marker == app1 && exif == nil && n > 10 && string(data[at+4:at+8]) == "Exif":
			exif = data[at : at+n]
		case marker == startOfFrame2:
			progressive = true
		}
		at += n
	}
	return exif, progressive
}

// withEXIF puts the EXIF segment of another image into a JPEG.
func withEXIF(data, exif []byte) []byte {
	if len(exif) == 0 {
		return data
	}
	return slices.Concat([]byte{0xFF, startOfImage}, exif, data[2:])
}
