package picture

import (
	"encoding/binary"
	"slices"
)

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
