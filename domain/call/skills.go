package call

import (
	"context"
	"strings"

	"github.com/toolserver/toolserver/domain"
)

// look has sources look for what they offer, and goes on with the catalog in force then.
func look(ctx context.Context, c *Call) {
	c.exec.Registry.Look(ctx, domain.LookTime)
	c.exec.Registry.Release(c.catalog)
	c.catalog = c.exec.Registry.Acquire()
	c.Record.redactor = &c.catalog.Redactor
}

// findResource finds a document, which may be a file of a skill that nobody has asked for yet.
func findResource(ctx context.Context, c *Call, uri string) (*domain.Resource, domain.Location, error) {
	r, at, err := c.catalog.FindResource(c.Session.Principal, uri)
	if strings.HasPrefix(uri, domain.SkillScheme) && (err != nil || r.URI != uri) { // found as something else
		look(ctx, c)
		return c.catalog.FindResource(c.Session.Principal, uri)
	}
	return r, at, err
}

// GetSkill returns a skill as it is now to done, as [Executor.Start] does.
func (e *Executor) GetSkill(ctx context.Context, s domain.Session, client Client, uri string, done func(*domain.Skill, error)) {
	c := e.newCall("skills/get", s, client, func(out outcome, err error) { done(out.Skill, err) })
	c.Record.ArgsBytes = len(uri)
	c.Record.touches(&c.Record.Target, "uri", uri)
	c.find = func(c *Call) (err error) {
		look(ctx, c)
		found, err := c.catalog.FindSkill(s.Principal, uri)
		if err != nil {
			return err
		}
		c.name("skill " + found.Path)
		c.work = func(_ *Call, ctx context.Context) (out outcome, err error) {
			if out.Skill = found; found.Renew == nil {
				return out, nil
			}
			if err = found.Renew(ctx); err != nil {
				return out, err
			}
			out.Skill, err = c.exec.Registry.Catalog().FindSkill(s.Principal, uri)
			return out, err
		}
		return nil
	}
	c.start(ctx)
}

// ReadDirectory returns a page of what is in a directory of skills to done, as [Executor.Start] does.
func (e *Executor) ReadDirectory(ctx context.Context, s domain.Session, client Client, uri, cursor string, done func([]*domain.Resource, string, error)) {
	c := e.newCall("resources/directory/read", s, client, func(out outcome, err error) { done(out.Directory, out.Next, err) })
	c.Record.ArgsBytes = len(uri)
	c.Record.touches(&c.Record.Target, "uri", uri)
	c.find = func(c *Call) error {
		look(ctx, c)
		c.work = func(_ *Call, ctx context.Context) (out outcome, err error) {
			out.Directory, out.Next, err = c.catalog.ReadDirectory(ctx, s.Principal, uri, cursor)
			return out, err
		}
		return nil
	}
	c.start(ctx)
}
