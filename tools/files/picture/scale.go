package picture

import (
	"context"
	"encoding/binary"
	"image"
	"image/color"
	"image/draw"
	"math"
	"slices"
)

// scale returns src with w x h pixels, no more than it has. Each is the mean of the area
// that it stands for. It keeps one line of src in memory, where the kernels of
// golang.org/x/image/draw need 32 bytes for each of the h0 x w pixels in between.
func scale(ctx context.Context, src image.Image, w, h int) (*image.RGBA, error) {
	deep, ok := src.(image.RGBA64Image)
	if !ok {
		plain := image.NewRGBA(src.Bounds())
		draw.Draw(plain, plain.Bounds(), src, src.Bounds().Min, draw.Src)
		deep = plain
	}
	s := &scaler{src: deep, bounds: src.Bounds(), line: make([]pixel, w), row: -1}
	s.step = float64(s.bounds.Dx()) / float64(w)
	dst := image.NewRGBA(image.Rect(0, 0, w, h))
	step := float64(s.bounds.Dy()) / float64(h)
	area := s.step * step * 257 // of 16 bits 8 remain
	sum := make([]pixel, w)
	for y := range h {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		clear(sum)
		top, bottom := float64(y)*step, float64(y+1)*step
		for row := int(top); row < min(int(math.Ceil(bottom)), s.bounds.Dy()); row++ {
			weight := min(bottom, float64(row+1)) - max(top, float64(row))
			for x, p := range s.read(row) {
				for i := range p {
					sum[x][i] += p[i] * weight
				}
			}
		}
		for x, p := range sum {
			at := func(i int) uint8 { return uint8(min(255, p[i]/area+0.5)) }
			dst.SetRGBA(x, y, color.RGBA{at(0), at(1), at(2), at(3)})
		}
	}
	return dst, nil
}

// pixel is a sum of colors with 16 bits.
type pixel [4]float64

type scaler struct {
	src    image.RGBA64Image
	bounds image.Rectangle
	step   float64 // pixels of src for one
	line   []pixel // of row
	row    int
}

// read returns a row of src in the width of the result. Two rows of that may need the same.
func (s *scaler) read(row int) []pixel {
	if row == s.row {
		return s.line
	}
	clear(s.line)
	s.row = row
	for x := range s.bounds.Dx() {
		c := s.src.RGBA64At(s.bounds.Min.X+x, s.bounds.Min.Y+row)
		p := pixel{float64(c.R), float64(c.G), float64(c.B), float64(c.A)}
		to := min(int(float64(x)/s.step), len(s.line)-1)
		first := 1.0
		if edge := float64(to+1) * s.step; edge < float64(x+1) && to+1 < len(s.line) {
			first = edge - float64(x)
		}
		for i := range p {
			s.line[to][i] += p[i] * first
			if first < 1 {
				s.line[to+1][i] += p[i] * (1 - first)
			}
		}
	}
	return s.line
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
