package mail

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/api/gmail/v1"

	"toolserver/sandbox/pathguard"
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

// types are the media types of files, by the ends of their names. It is not that of the system, which is different on each.
var types = [][2]string{
	{".txt", "text/plain"}, {".text", "text/plain"}, {".log", "text/plain"}, {".html", "text/html"}, {".htm", "text/html"}, {".css", "text/css"},
	{".csv", "text/csv"}, {".md", "text/markdown"}, {".ics", "text/calendar"}, {".ics", "application/ics"}, {".vcf", "text/vcard"},
	{".vcf", "text/x-vcard"}, {".xml", "application/xml"}, {".xml", "text/xml"}, {".json", "application/json"}, {".pdf", "application/pdf"},
	{".zip", "application/zip"}, {".zip", "application/x-zip-compressed"}, {".gz", "application/gzip"}, {".tar", "application/x-tar"},
	{".rtf", "application/rtf"}, {".doc", "application/msword"}, {".xls", "application/vnd.ms-excel"}, {".ppt", "application/vnd.ms-powerpoint"},
	{".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
	{".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
	{".pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
	{".odt", "application/vnd.oasis.opendocument.text"}, {".ods", "application/vnd.oasis.opendocument.spreadsheet"},
	{".png", "image/png"}, {".jpg", "image/jpeg"}, {".jpeg", "image/jpeg"}, {".jpg", "image/jpg"}, {".gif", "image/gif"}, {".webp", "image/webp"},
	{".svg", "image/svg+xml"}, {".bmp", "image/bmp"}, {".tiff", "image/tiff"}, {".heic", "image/heic"}, {".mp3", "audio/mpeg"},
	{".wav", "audio/wav"}, {".m4a", "audio/mp4"}, {".ogg", "audio/ogg"}, {".mp4", "video/mp4"}, {".mov", "video/quicktime"},
	{".webm", "video/webm"}, {".eml", "message/rfc822"}, {".asc", "application/pgp-signature"}, {".p7s", "application/pkcs7-signature"},
	{".p7s", "application/x-pkcs7-signature"}, {".p7m", "application/pkcs7-mime"},
}

// typeOf returns the media type of a file by its name.
func typeOf(name string) string {
	end := strings.ToLower(path.Ext(name))
	if i := slices.IndexFunc(types, func(t [2]string) bool { return t[0] == end }); i >= 0 {
		return types[i][1]
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
		if i := slices.IndexFunc(types, func(t [2]string) bool { return strings.EqualFold(t[1], mediaType) }); i >= 0 {
			name += types[i][0]
			end = types[i][0]
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
