package picture

import (
	"bytes"
	"encoding/binary"
	"slices"
)

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
