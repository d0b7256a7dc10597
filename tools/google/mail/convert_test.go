package mail_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"mime"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/api/gmail/v1"
)

// gmailPart makes of the source of a message what Gmail's API returns for format=full. It is as lenient: what cannot be parsed is
// skipped, transfer encodings are decoded, and charsets are not. Files, and parts with X-Test-Apart, are delivered apart.
func gmailPart(src []byte) (*gmail.MessagePart, map[string][]byte) {
	c := converter{apart: map[string][]byte{}}
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	return c.part(bytes.ReplaceAll(src, []byte("\n"), []byte("\r\n")), "", "text/plain"), c.apart
}

type converter struct {
	apart map[string][]byte
}

func (c converter) part(src []byte, id, defaultType string) *gmail.MessagePart {
	p := &gmail.MessagePart{PartId: id, Body: &gmail.MessagePartBody{}}
	var body []byte
	p.Headers, body = splitHeader(src)
	kind := value(p, "Content-Type")
	media, _, _ := strings.Cut(kind, ";")
	p.MimeType = strings.ToLower(strings.TrimSpace(media))
	if p.MimeType == "" {
		p.MimeType = defaultType
	}
	p.Filename = param(value(p, "Content-Disposition"), "filename")
	if p.Filename == "" {
		p.Filename = param(kind, "name")
	}
	boundary := param(kind, "boundary")
	if strings.HasPrefix(p.MimeType, "multipart/") && boundary == "" {
		p.MimeType = "text/plain"
	}
	child := func(i int) string { return strings.TrimPrefix(id+"."+strconv.Itoa(i), ".") }
	switch {
	case strings.HasPrefix(p.MimeType, "multipart/"):
		inner := "text/plain"
		if p.MimeType == "multipart/digest" {
			inner = "message/rfc822"
		}
		for i, b := range splitParts(body, boundary) {
			p.Parts = append(p.Parts, c.part(b, child(i), inner))
		}
		return p
	case p.MimeType == "message/rfc822":
		p.Parts = append(p.Parts, c.part(body, child(0), "text/plain"))
		if p.Filename == "" {
			return p
		}
	}
	data := decodeTransfer(body, strings.ToLower(value(p, "Content-Transfer-Encoding")))
	p.Body.Size = int64(len(data))
	if p.Filename != "" || value(p, "X-Test-Apart") != "" || !strings.HasPrefix(p.MimeType, "text/") && !strings.HasPrefix(p.MimeType, "message/") {
		p.Body.AttachmentId = "apart-" + id
		c.apart[p.Body.AttachmentId] = data
	} else {
		p.Body.Data = base64.URLEncoding.EncodeToString(data)
	}
	return p
}

func splitHeader(src []byte) (headers []*gmail.MessagePartHeader, body []byte) {
	for len(src) > 0 {
		line, rest, _ := bytes.Cut(src, []byte("\r\n"))
		if len(line) == 0 {
			return headers, rest
		}
		for len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') {
			more, after, _ := bytes.Cut(rest, []byte("\r\n"))
			line, rest = append(append(bytes.Clone(line), "\r\n"...), more...), after
		}
		if name, v, ok := strings.Cut(string(line), ":"); ok {
			headers = append(headers, &gmail.MessagePartHeader{Name: name, Value: strings.TrimSpace(v)})
		}
		src = rest
	}
	return headers, nil
}

func splitParts(body []byte, boundary string) (parts [][]byte) {
	lines := bytes.SplitAfter(body, []byte("\r\n"))
	var current []byte
	open := false
	for _, line := range lines {
		trimmed := strings.TrimRight(string(line), "\r\n\t ")
		if trimmed != "--"+boundary && trimmed != "--"+boundary+"--" {
			current = append(current, line...)
			continue
		}
		if open {
			parts = append(parts, bytes.TrimSuffix(current, []byte("\r\n")))
		}
		current, open = nil, trimmed == "--"+boundary
		if !open {
			return parts
		}
	}
	if open {
		parts = append(parts, current)
	}
	return parts
}

func value(p *gmail.MessagePart, name string) string {
	for _, h := range p.Headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

func param(v, name string) string {
	if _, params, err := mime.ParseMediaType(v); err == nil {
		return params[name]
	}
	m := regexp.MustCompile(`(?i);\s*` + name + `="?([^";]*)`).FindStringSubmatch(v)
	if m == nil {
		return ""
	}
	return m[1]
}

func decodeTransfer(body []byte, way string) []byte {
	switch way {
	case "base64":
		clean := bytes.Map(func(r rune) rune {
			if strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", r) {
				return r
			}
			return -1
		}, body)
		out := make([]byte, base64.RawStdEncoding.DecodedLen(len(clean)))
		n, _ := base64.RawStdEncoding.Decode(out, clean)
		return out[:n]
	case "quoted-printable":
		var out []byte
		for i := 0; i < len(body); i++ {
			if body[i] == '=' && bytes.HasPrefix(body[i+1:], []byte("\r\n")) {
				i += 2
			} else if body[i] == '=' && i+2 < len(body) {
				if b, err := hex.DecodeString(string(body[i+1 : i+3])); err == nil {
					out = append(out, b...)
					i += 2
				} else {
					out = append(out, '=')
				}
			} else {
				out = append(out, body[i])
			}
		}
		return out
	}
	return body
}
