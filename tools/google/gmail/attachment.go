package gmail

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/encoding/charmap"
	gmailapi "google.golang.org/api/gmail/v1"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/text/document"
	"github.com/toolserver/toolserver/text/html"
	"github.com/toolserver/toolserver/text/mail"
	"github.com/toolserver/toolserver/text/textfile"
	"github.com/toolserver/toolserver/tools/files/content"
	"github.com/toolserver/toolserver/tools/google/api"
)

type saveInput struct {
	MessageID    string `json:"messageId" pattern:"^[0-9A-Za-z_-]{1,200}$"`
	AttachmentID string `json:"attachmentId" min:"1" max:"2000" list:"true"`
	Filename     string `json:"filename,omitempty" max:"200"`
	Directory    string `json:"directory" default:"attachments" min:"1" max:"4096"`
}

func (saveInput) Words() string { return arguments }

// saveResult is the structured content of gmail_save_attachment.
type saveResult struct {
	Path     string `json:"path" doc:"The file."`
	Size     int64  `json:"sizeBytes" doc:"Its size in bytes."`
	SHA256   string `json:"sha256" doc:"SHA-256 of its content, in hexadecimal."`
	MIMEType string `json:"mimeType" doc:"Media type, as the mail says."`
}

// Bounds of saved attachments.
const (
	maxSaved   = 25 << 20 // bytes
	maxRenamed = 100      // names that are tried where others are taken
)

const saveFailing = "Error saving attachment"

func (t *toolset) saveTool(held sandbox.Capabilities) domain.Tool {
	s := &saver{t, held.Writer()}
	tool := define(t, saveFailing, domain.Tool{
		Name: saveName, Target: []string{"messageId", "attachmentId", "directory", "filename"},
		Annotations: domain.Annotations{},
		Output:      schema.OutputOf[saveResult](),
	}, s.save)
	tool.Explain = s.explain
	return tool
}

// saver is the tool gmail_save_attachment.
type saver struct {
	*toolset
	files *sandbox.Writer
}

func (s *saver) save(ctx context.Context, in saveInput) (domain.ToolResult, error) {
	a, data, err := s.attached(ctx, saveFailing, in.MessageID, in.AttachmentID)
	if err != nil {
		return domain.ToolResult{}, err
	}
	name := mail.SafeName(cmp.Or(strings.TrimSpace(in.Filename), a.Name), a.Type, a.Index)
	path, err := write(s.files, in.Directory, name, data)
	if refused, ok := errors.AsType[*pathguard.Error](err); ok {
		err = fileFailure(saveFailing, refused)
	}
	if err != nil {
		return domain.ToolResult{}, err
	}
	sum := sha256.Sum256(data)
	r := saveResult{path, int64(len(data)), hex.EncodeToString(sum[:]), line(a.Type)}
	res := domain.Text(fmt.Sprintf("Attachment saved to %s\n  Size: %d bytes\n  Type: %s\n  SHA-256: %s", r.Path, r.Size, r.MIMEType, r.SHA256))
	res.Results, res.Made = r, map[string][]string{"path": {r.Path}}
	return res, nil
}

// attached returns an attachment and its content, which is in the message if it is small.
func (t *toolset) attached(ctx context.Context, failing, messageID, which string) (a mail.AttachmentInfo, data []byte, err error) {
	m, err := api.Read(ctx, t.client, t.service().Users.Messages.Get("me", messageID).Format("full").Fields("id", "payload").Context(ctx).Do)
	if err != nil {
		return a, nil, err
	}
	if a, err = choose(failing, mail.Attachments(m.Payload), which); err != nil {
		return a, nil, err
	}
	switch part := partOf(m.Payload, a.PartID); {
	case a.Size > maxSaved:
	case a.AttachmentID != "":
		data, err = t.fetch(m.Id)(ctx, a.AttachmentID)
	case part != nil && part.Body != nil:
		data, err = mail.Decode(part.Body.Data)
	}
	if n := max(a.Size, int64(len(data))); n > maxSaved {
		err = api.Refusal("too_large", fmt.Sprintf("%s: it has %s bytes; at most %s are read", failing, brief.Thousands(n), brief.Thousands(maxSaved)),
			"Ask the user to save it from Gmail.")
	}
	return a, data, err
}

// attachmentReader is the tool gmail_read, which also reads what is attached.
type attachmentReader struct {
	*toolset
	contents *content.Reader
}

const attachmentFailing = "Error reading attachment"

func (r *attachmentReader) read(ctx context.Context, in readInput) (domain.ToolResult, error) {
	if in.Attachment == "" {
		return r.toolset.read(ctx, in)
	}
	if strings.Contains(in.MessageID, ",") {
		return domain.ToolResult{}, domain.InvalidArgument(readName, "attachment", "is of one message: pass one messageId")
	}
	a, data, err := r.attached(ctx, attachmentFailing, in.MessageID, in.Attachment)
	if err != nil {
		return domain.ToolResult{}, err
	}
	c, err := r.shown(ctx, content.FromBytes(a.Name, a.Type, data), data)
	if refused, ok := errors.AsType[*content.Failure](err); ok {
		err = api.Refusal(refused.Type, attachmentFailing+": "+refused.Message, refused.Hint)
	}
	if err != nil {
		return domain.ToolResult{}, err
	}
	res := domain.Text(fmt.Sprintf("Attachment: %s (%s, %d bytes)%s\n\n%s", a.Name, line(a.Type), len(data), strings.TrimSuffix("\nNote: "+c.Note, "\nNote: "),
		call.Untrusted(ctx, "Attachment", "its sender", strings.TrimSpace(c.Text))))
	if c.Picture != nil {
		res.Content = append(res.Content, domain.Content{Type: domain.ImageContent, Data: c.Picture.Data, MIMEType: c.Picture.MIME})
	}
	return res, nil
}

// shown returns what is in an attachment, in which text need not say its charset.
func (r *attachmentReader) shown(ctx context.Context, src content.Source, data []byte) (content.Content, error) {
	if src.Type.Kind == document.Other {
		src.Type = document.DetectText(src.Name, data)
	}
	text, err := data, error(nil)
	switch src.Type.Kind {
	case document.Other:
		if text, _, err = textfile.Decode(data, textfile.Charset{}); err != nil && !bytes.Contains(data, []byte{0}) {
			text, err = charmap.Windows1252.NewDecoder().Bytes(data)
		}
	case document.Binary:
		err = errors.ErrUnsupported
	default:
		return r.contents.Read(ctx, src)
	}
	if err != nil {
		return content.Content{}, &content.Failure{Type: "is_binary", Message: src.Name + " is neither text nor a document or image that is read here",
			Hint: "Ask the user to open it in Gmail."}
	}
	return content.Content{Text: html.Plain(string(text))}, nil
}

// choose returns the attachment that a caller means: by index, name or Gmail's ID.
func choose(failing string, all []mail.AttachmentInfo, which string) (mail.AttachmentInfo, error) {
	which = strings.TrimSpace(which)
	var named []mail.AttachmentInfo
	for _, a := range all {
		if n, err := strconv.Atoi(which); err == nil && n == a.Index || a.AttachmentID != "" && a.AttachmentID == which {
			return a, nil
		}
		if a.Name == which {
			named = append(named, a)
		}
	}
	if len(named) == 1 {
		return named[0], nil
	}
	var list []string
	for _, a := range all {
		list = append(list, fmt.Sprintf("%d (%s)", a.Index, a.Name))
	}
	problem := "the message has no such attachment"
	if len(named) > 1 {
		problem = "several attachments of the message have this name"
	}
	hint := "Pass the number of one of: " + strings.Join(list, ", ") + "."
	if len(all) == 0 {
		hint = "The message has no attachments; call " + readName + " to see what it has."
	}
	return mail.AttachmentInfo{}, api.Refusal("not_found", failing+": "+problem, hint)
}

// partOf returns the part of a message that has an ID, or nil.
func partOf(p *gmailapi.MessagePart, id string) *gmailapi.MessagePart {
	if p == nil || p.PartId == id {
		return p
	}
	for _, child := range p.Parts {
		if found := partOf(child, id); found != nil {
			return found
		}
	}
	return nil
}

// write writes a new file, under another name if that is taken, and returns its path.
func write(w *sandbox.Writer, dir, name string, data []byte) (string, error) {
	ext := filepath.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	for n := 0; ; n++ {
		if n > 0 {
			name = fmt.Sprintf("%s (%d)%s", stem, n, ext)
		}
		path := filepath.Join(dir, name)
		_, err := w.Replace(path, data, pathguard.ReplaceOptions{CreateDirs: true, NoReplace: true})
		refused, ok := errors.AsType[*pathguard.Error](err)
		if taken := ok && slices.Contains([]pathguard.Kind{pathguard.KindExists, pathguard.KindNotAFile}, refused.Kind); !taken || n == maxRenamed {
			return path, err
		}
	}
}

// explain is about the directory that an attachment is saved in.
func (s *saver) explain(_ context.Context, args domain.Arguments) (domain.Explanation, error) {
	directory, _ := args["directory"].(string) // a schema's default where it is left out
	decision, err := s.files.Check(directory)
	return domain.Explanation{Allowed: decision.Allowed, Rule: decision.Rule, Reason: decision.Reason, Path: decision.Resolved}, err
}
