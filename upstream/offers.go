package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/text/frontmatter"
	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/upstream/skills"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// pinQuarantine is the value of [Settings.Pin] that leaves out what has changed.
const pinQuarantine = "quarantine"

// offers are what a server offers: its catalog as it was last read or kept, and what becomes of that for clients.
type offers struct {
	*entry
	files *files
	calls *calls
	enter domain.Tool // signs in

	mu       sync.Mutex
	catalog  catalog
	pins     map[string]Difference // tools and skills that differ from their pins
	offered  domain.Offer
	signsIn  bool   // somebody has to sign in
	owner    string // ID of the principal whose connection has shown the catalog; "" for all
	changed  func()
	problems []string  // with what is kept
	read     time.Time // when the lists were
	repairs  []string  // of what is offered
}

// notify sets what is called when the offer has changed.
func (o *offers) notify(changed func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changed = changed
}

// Offer returns what the server offered last, and the tool that signs in where somebody has to.
func (o *offers) Offer() domain.Offer {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := o.offered
	if o.signsIn {
		last.Tools = append(slices.Clone(last.Tools), o.enter)
	}
	return last
}

// problem notes that something cannot be kept, once.
func (o *offers) problem(what string, err error) {
	o.deps.Log.Warn(what, zap.Error(err))
	o.mu.Lock()
	defer o.mu.Unlock()
	if text := what + ": " + err.Error(); len(o.problems) < 10 {
		o.problems = append(o.problems, text)
	}
}

// load reads the lists of the server, and offers what is in them.
func (o *offers) load(ctx context.Context, l *link, conn *connection) error {
	o.mu.Lock()
	if o.owner == "" {
		o.owner = l.owner
	}
	others := o.owner != l.owner
	o.mu.Unlock()
	if others { // each caller may be shown other tools; what is offered must not alternate
		return nil
	}
	about := conn.Server()
	var broken []string
	again := false
	c := catalog{Handshake: l.handshake, Protocol: about.Protocol, Info: about.Info, Instructions: about.Instructions}
	extension := rawjson.Member(rawjson.Member(about.Capabilities, "extensions"), mcpclient.ExtensionSkills)
	c.Directories = string(rawjson.Member(extension, "directoryRead")) == "true"
	for _, list := range []struct {
		capability string
		method     mcp.MCPMethod
		to         *[]json.RawMessage
	}{
		{"tools", mcp.MethodToolsList, &c.Tools}, {"resources", mcp.MethodResourcesList, &c.Resources},
		{"resources", mcp.MethodResourcesTemplatesList, &c.Templates}, {"prompts", mcp.MethodPromptsList, &c.Prompts},
		{"extensions", mcpclient.MethodSkillsList, &c.Skills},
	} {
		if rawjson.Member(about.Capabilities, list.capability) == nil || list.to == &c.Skills && extension == nil {
			continue
		}
		listing, cancel := context.WithTimeout(ctx, o.Timeout())
		items, err := conn.List(listing, string(list.method))
		cancel()
		_, answered := errors.AsType[*jsonrpc.Error](err)
		switch {
		case err == nil, answered && list.to == &c.Templates && items == nil: // which servers with resources need not have
		case items == nil && (!answered && list.to != &c.Skills || list.to == &c.Tools), conn.Err() != nil, errors.Is(err, mcpclient.ErrSessionEnded):
			return err
		default: // what came before it counts
			_, err = o.withoutTokens(nil, err)
			again = again || !errors.Is(err, mcpclient.ErrEndless)
			broken = append(broken, fmt.Sprintf("%s is not read whole, %d came: %v", list.method, len(items), err))
		}
		*list.to = items
	}
	l.incomplete(broken, again)
	o.mu.Lock()
	same := !o.catalog.empty() && reflect.DeepEqual(o.catalog, c)
	o.read = time.Now()
	o.mu.Unlock()
	if !same {
		o.replace(c)
	}
	return nil
}

// replace keeps a catalog for the next run and for commands, and offers what is in it.
func (o *offers) replace(c catalog) {
	if err := o.files.keepCatalog(c); err != nil {
		o.problem("its catalog cannot be kept", err)
	}
	o.adopt(c)
	o.tell(nil)
}

// tell tells other replicas that what the server offers has changed, or was approved of.
func (o *offers) tell(approved pins) {
	if o.deps.Changed == nil {
		return
	}
	var text json.RawMessage
	if approved != nil {
		text, _ = json.Marshal(approved) // it was read or made
	}
	o.deps.Changed(o.name, text)
}

// Elsewhere takes in what another replica has told of the server.
func (s *Server) Elsewhere(approved json.RawMessage) {
	var now pins
	if approved == nil {
		s.links.main.refresh()
		return
	}
	if json.Unmarshal(approved, &now) != nil {
		return
	}
	if _, err := s.files.changePins(func(p pins) { maps.Copy(p, now) }); err != nil {
		s.problem("the pins that another replica has cannot be kept", err)
	}
	s.followPins()
}

// adopt offers what is in a catalog.
func (o *offers) adopt(c catalog) {
	tools, changed, err := c.pinnable(o.name), map[string]Difference(nil), error(nil)
	if o.deps.place == nil { // or it is as trusted as this one
		changed, err = o.files.compare(tools)
	}
	if err != nil {
		o.problem("the pins of its tools and skills cannot be read or kept", err)
		changed = map[string]Difference{}
		for name := range tools { // it is not known which of them have changed
			if o.settings.Pin == pinQuarantine {
				changed[name] = Difference{Tool: name}
			}
		}
	}
	for name, d := range changed {
		members := make([]string, len(d.Members))
		for i, m := range d.Members {
			members[i] = m.Name
		}
		o.deps.Log.Warn("a tool or skill has changed since it was pinned", zap.String("name", name), zap.Strings("members", members))
	}
	offer, repairs := o.offer(&c, changed)
	o.mu.Lock()
	o.catalog, o.pins, o.offered, o.repairs = c, changed, offer, repairs
	notify := o.changed
	o.mu.Unlock()
	if notify != nil {
		notify()
	}
}

// settle notes that the server has been tried, and whether somebody has to sign in. It notifies if that has changed, or in any case.
func (o *offers) settle(signsIn, notifies bool) {
	o.mu.Lock()
	notify := o.changed
	notifies = notifies || signsIn != o.signsIn
	o.signsIn = signsIn
	o.mu.Unlock()
	if notifies && notify != nil {
		notify()
	}
}

// followPins offers tools that are held back when somebody has approved of them.
func (o *offers) followPins() {
	o.mu.Lock()
	held, c := o.pins, o.catalog
	o.mu.Unlock()
	if len(held) == 0 || o.settings.Pin != pinQuarantine {
		return
	}
	p, _ := o.files.pins() // those that cannot be read approve of nothing
	approved := pins{}
	for name, raw := range c.pinnable(o.name) {
		if _, ok := held[name]; ok && p[name].Hash == newPin(raw).Hash {
			approved[name] = p[name]
		}
	}
	if len(approved) > 0 {
		o.adopt(c)
		o.tell(approved)
	}
}

// Known reports whether the server has said once what it offers.
func (o *offers) Known() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.catalog.empty()
}

// Differences returns how tools and skills differ from their pins, by name. They are those of the
// newest list that is known.
func (o *offers) Differences() (all []Difference) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(o.pins)) {
		all = append(all, o.pins[name])
	}
	return all
}

// Approve pins tools and skills, by the server's own names, as they are in the list that
// [Server.Differences] is about. Programs that run notice it.
func (o *offers) Approve(tools []string) error {
	o.mu.Lock()
	c := o.catalog
	o.mu.Unlock()
	now, listed := pins{}, c.pinnable(o.name)
	for _, name := range tools {
		if listed[name] == nil {
			return fmt.Errorf("server %s lists no tool or skill %q", o.name, brief.Name(name))
		}
		now[name] = newPin(listed[name])
	}
	if _, err := o.files.changePins(func(p pins) { maps.Copy(p, now) }); err != nil {
		return err
	}
	o.adopt(c)
	return nil
}

// ToolNames returns the names that the server gives its tools, in order.
func (o *offers) ToolNames() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(o.catalog.named()))
}

// Look has the lists read again if there are skills, which nobody notifies of, and they are old: for the next who asks.
func (s *Server) Look(ctx context.Context, _ []string) {
	if s.deps.place != nil && !s.Known() {
		_, _ = s.links.main.ready(ctx)
		s.settle(true) // also for why it is not known
	}
	s.mu.Lock()
	old := len(s.catalog.Skills) > 0 && time.Since(s.read) > skillsAge
	s.mu.Unlock()
	if old {
		s.links.main.refresh()
	}
}

// skillsAge is how long the entries of skills are up to date.
const skillsAge = time.Minute

// skill returns a skill of the server, under an address of ours.
func (o *offers) skill(e skills.Entry, directories bool) domain.Skill {
	s := e.Skill
	s.Audience, s.Origins = o.settings.audience(), []string{e.Own(""), o.address(e.Own(""))}
	s.Read = func(ctx context.Context, uri string) ([]byte, string, error) {
		r, err := o.calls.read(ctx, e.Own(uri), uri)
		if err != nil {
			return nil, "", err
		}
		return e.File(uri, r.Content)
	}
	if !o.settings.perPrincipal() { // each of whom may be shown something else
		s.Renew = func(ctx context.Context) error { return o.renew(ctx, &e) }
	}
	if e.Dynamic && directories {
		s.Children = func(ctx context.Context, uri, cursor string) ([]*domain.Resource, string, error) {
			params := map[string]string{"uri": e.Own(uri)}
			if cursor != "" {
				params["cursor"] = cursor
			}
			page, err := o.calls.request(ctx, "directory "+uri, mcpclient.MethodDirectoryRead, params)
			all, next := e.Children(uri, page)
			return all, next, err
		}
	}
	return s
}

// renew asks the server for a skill, and offers what it says now.
func (o *offers) renew(ctx context.Context, e *skills.Entry) error {
	what := "skill " + e.Path
	result, err := o.calls.request(ctx, what, mcpclient.MethodSkillsGet, map[string]string{"uri": e.URI})
	raw := rawjson.Member(result, "skill")
	if refused, ok := errors.AsType[*domain.Error](err); ok && refused.Verbatim && refused.Code == domain.CodeInvalidParams {
		o.calls.links.main.refresh()
		return domain.NoSkill(e.Skill.URI())
	} else if err == nil && skills.URIOf(raw) != e.URI {
		err = domain.Errorf(domain.CodeExecutionFailed, "%s: server %s returned no entry of it", what, o.name)
	}
	if err != nil {
		return err
	}
	o.mu.Lock()
	c := o.catalog
	o.mu.Unlock()
	i := slices.IndexFunc(c.Skills, func(listed json.RawMessage) bool { return skills.URIOf(listed) == e.URI })
	if i >= 0 && !frontmatter.Same(c.Skills[i], raw) {
		c.Skills = slices.Clone(c.Skills)
		c.Skills[i] = raw
		o.replace(c)
	}
	return nil
}
