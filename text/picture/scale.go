package picture

import (
	"context"
	"encoding/binary"
	"image"
	"slices"

	"golang.org/x/image/draw"
)

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
