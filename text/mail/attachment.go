package mail

import (
	_ "embed" // for the table
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/api/gmail/v1"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// AttachmentInfo is an attachment of a message that is read.
type AttachmentInfo struct {
	Index        int    `json:"index"` // from 1, in the order of the message
	Name         string `json:"filename"`
	Type         string `json:"mimeType"`
	Size         int64  `json:"size"`
	PartID       string `json:"partId"`
	AttachmentID string `json:"attachmentId,omitempty"` // empty if the message holds the content itself
	Inline       bool   `json:"inline,omitempty"`       // shown in the text, such as an image
}

// attach adds a part to the list of attachments.
func (r *reader) attach(p *gmail.MessagePart, media string, inline bool) {
	a := AttachmentInfo{Index: len(r.body.Attachments) + 1, Type: media, PartID: p.PartId, Inline: inline}
	a.Name = SafeName(p.Filename, media, a.Index)
	if p.Body != nil {
		a.Size, a.AttachmentID = p.Body.Size, p.Body.AttachmentId
	}
	r.body.Attachments = append(r.body.Attachments, a)
}

// typeTable has the media types of files, by the ends of their names. It is not that of the system, which is different on each.
//
//go:embed types.txt
var typeTable string

// types returns pairs of the end of a name and a media type.
func types() [][]string { return slices.Collect(slices.Chunk(strings.Fields(typeTable), 2)) }

// typeOf returns the media type of a file by its name.
func typeOf(name string) string {
	end := strings.ToLower(path.Ext(name))
	for _, t := range types() {
		if t[0] == end {
			return t[1]
		}
	}
	return "application/octet-stream"
}

// maxSafeName is how many bytes a safe name has at most: file systems allow 255, and what saves a file may add to its name.
const maxSafeName = 150

// SafeName returns the name of an attachment as a base name that is safe on all file systems: without directories, leading dots and
// characters or names that have a meaning there. A name without an extension gets that of its type. Without a name it is
// "attachment-<index>".
func SafeName(name, mediaType string, index int) string {
	name = DecodeHeader(name)
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`<>:"|?*`, r) || !unicode.IsPrint(r) && !unicode.In(r, unicode.Cf) || r == utf8.RuneError {
			return '_'
		}
		return r
	}, name)
	name = strings.TrimRight(strings.TrimLeft(name, ". "), ". ")
	if name == "" {
		name = fmt.Sprintf("attachment-%d", index)
	}
	end := path.Ext(name)
	if end == "" || len(end) > 12 {
		end = ""
		if i := slices.IndexFunc(types(), func(t []string) bool { return strings.EqualFold(t[1], mediaType) }); i >= 0 {
			end = types()[i][0]
			name += end
		}
	}
	stem := strings.TrimSuffix(name, end)
	if pathguard.DeviceName(stem) {
		stem = "_" + stem
	}
	for len(stem)+len(end) > maxSafeName {
		_, n := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-n]
	}
	return strings.TrimRight(stem, ". ") + end
}
