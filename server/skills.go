package server

import (
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// listSkills serves skills/list (SEP-2640).
func (x *exchange) listSkills() (reply, error) {
	cursor, err := x.listed()
	if err != nil {
		return nil, err
	}
	catalog := x.server.exec.Registry.Look(x.ctx)
	page, next, err := catalog.ListSkills(x.who.principal, cursor)
	return x.page(catalog, appendList(nil, "skills", page, appendSkill), next), err
}

// getSkill serves skills/get.
func (x *exchange) getSkill() {
	uri, err := x.text("uri", x.uri)
	if err != nil {
		x.finish(nil, err)
		return
	}
	x.server.exec.GetSkill(x.ctx, x.domain(), &x.peer, uri, func(s *domain.Skill, err error) {
		x.finish(func(b []byte) []byte {
			b = appendSkill(append(b, `{"skill":`...), s)
			if x.meta.modern {
				b = append(b, caching...)
			}
			return x.encoder().end(b, nil)
		}, err)
	})
}

// readDirectory serves resources/directory/read.
func (x *exchange) readDirectory() {
	uri, err := x.text("uri", x.uri)
	cursor := ""
	if err == nil && x.cursor != nil {
		cursor, err = x.text("cursor", x.cursor)
	}
	if err != nil {
		x.finish(nil, err)
		return
	}
	x.server.exec.ReadDirectory(x.ctx, x.domain(), &x.peer, uri, cursor, func(page []*domain.Resource, next string, err error) {
		x.finish(func(b []byte) []byte {
			b = appendList(append(b, '{'), "resources", page, appendResource)
			return x.encoder().end(appendOptional(b, "nextCursor", next), nil)
		}, err)
	})
}

// appendSkill appends the entry of a skill.
func appendSkill(b []byte, s *domain.Skill) []byte {
	b = rawjson.AppendString(append(b, `{"uri":`...), s.URI())
	b = jsonrpc.AppendValue(append(b, `,"frontmatter":`...), s.Frontmatter)
	if s.Dynamic {
		return append(b, `,"resources":"dynamic"}`...)
	}
	return append(jsonrpc.AppendValue(append(b, `,"resources":`...), s.Files), '}')
}
