// Package skills provides skills (SEP-2640): those that are part of the program, and those in
// directories that configuration names.
package skills

import (
	"context"
	"embed"
	"path"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/text/frontmatter"
	"github.com/toolserver/toolserver/tools/files"
)

// Options are what the configuration says of skills.
type Options struct {
	Off         bool     // clients are not offered the extension
	Directories []string // that have skills
}

// Family returns the skills. Nothing is read before somebody asks for skills.
func Family(o Options) declare.Family[Options, *finder] {
	return declare.Family[Options, *finder]{
		Name: "skills", ByPolicy: len(o.Directories) > 0,
		Share: func(from declare.From[Options]) (*finder, error) {
			if from.Config.Off || from.Sandbox == nil {
				return nil, nil
			}
			return newFinder(from.Config.Directories, from.Sandbox.For(files.ReadFile))
		},
		Others: func(f *finder) (o domain.Offer) {
			if f != nil {
				o.Look = f.look
			}
			return o
		},
	}
}

// texts are the skills that are part of the program: directories with SKILL.md.
//
//go:embed own
var texts embed.FS

// shipped are these skills. One that is about a tool is for those who may use that.
var shipped = [...]struct{ name, tool string }{
	{"large-results", "read_large_result"},
	{"many-tools", "mcp_search"},
	{"policy-and-refusals", ""},
}

// own returns the skills that are part of the program, which a test holds to the format.
func own() (all []domain.Skill) {
	for _, from := range shipped {
		body, _ := texts.ReadFile(path.Join("own", from.name, domain.SkillMain))
		s := domain.Skill{Path: "toolserver/" + from.name, Audience: domain.Audience{Tool: from.tool}}
		s.Frontmatter, _ = frontmatter.Of(body)
		s.Files = []domain.SkillFile{{URI: s.URI(), Digest: domain.Digest(body), Size: int64(len(body)), MIME: "text/markdown"}}
		s.Read = func(context.Context, string) ([]byte, string, error) { return body, "text/markdown", nil }
		all = append(all, s)
	}
	return all
}
