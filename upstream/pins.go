package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// pinned are the members of a tool that decide what a model makes of it, and, last, those of [skills.Pinned].
var pinned = [...]string{"title", "description", "inputSchema", "outputSchema", "annotations", "frontmatter", "resources"}

// pin is a tool or skill as it was first seen, or last approved.
type pin struct {
	Hash string                     `json:"hash"`
	Tool map[string]json.RawMessage `json:"tool"` // its pinned members
	Date time.Time                  `json:"date"`
}

// pins are the pins of a server's tools, by name, and skills, by address.
type pins map[string]pin

// newPin pins a tool as the server lists it. White space and the order of members make
// no difference.
func newPin(raw json.RawMessage) pin {
	var all map[string]any
	_ = json.Unmarshal(raw, &all) // the caller has read it
	p := pin{Tool: map[string]json.RawMessage{}, Date: time.Now().UTC().Truncate(time.Second)}
	for _, name := range pinned {
		if value, ok := all[name]; ok {
			p.Tool[name], _ = json.Marshal(value) // in one form: names sorted, no white space
		}
	}
	b, _ := json.Marshal(p.Tool) // in the order of names
	sum := sha256.Sum256(b)
	p.Hash = hex.EncodeToString(sum[:])
	return p
}

func (f *files) pinsName() string { return "pins." + f.server + ".json" }

// pins returns the pins of the server.
func (f *files) pins() (p pins, err error) {
	err = f.read(f.pinsName(), &p)
	return p, err
}

// lockTime is how long another process may have the pins.
const lockTime = 5 * time.Second

// changePins changes the pins. It does so under a lock, since several processes may run.
func (f *files) changePins(change func(pins)) (pins, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockTime)
	defer cancel()
	unlock, err := f.state.Lock(ctx, f.pinsName())
	if err != nil {
		return nil, err
	}
	defer unlock()
	p, err := f.pins()
	if err != nil {
		return nil, err
	}
	if p == nil {
		p = pins{}
	}
	before := maps.Clone(p)
	change(p)
	if maps.EqualFunc(p, before, func(a, b pin) bool { return a.Hash == b.Hash }) {
		return p, nil
	}
	return p, f.write(f.pinsName(), p)
}

// Difference is how a tool differs from what was pinned.
type Difference struct {
	Tool    string   `json:"tool"`            // as its server names it; of a skill, its address
	Skill   bool     `json:"skill,omitempty"` // it is a skill
	Members []Member `json:"members"`
}

// Member is a member of a tool that has changed: JSON, or empty where there was none.
type Member struct {
	Name   string          `json:"name"`
	Before json.RawMessage `json:"before,omitempty"`
	Now    json.RawMessage `json:"now,omitempty"`
}

// difference returns how a tool differs from its pin.
func (p pin) difference(name string, now pin) Difference {
	d := Difference{Tool: name, Skill: now.Tool["frontmatter"] != nil}
	for _, member := range pinned {
		if before, after := p.Tool[member], now.Tool[member]; string(before) != string(after) {
			d.Members = append(d.Members, Member{member, before, after})
		}
	}
	return d
}

// compare pins tools that are new, and returns how others differ from their pins.
func (f *files) compare(tools map[string]json.RawMessage) (changed map[string]Difference, err error) {
	p, err := f.pins()
	if err != nil {
		return nil, err
	}
	now := map[string]pin{}
	for name, raw := range tools {
		now[name] = newPin(raw)
	}
	isNew := func(name string) bool { _, known := p[name]; return !known }
	if slices.ContainsFunc(slices.Collect(maps.Keys(now)), isNew) {
		if p, err = f.changePins(func(p pins) {
			for name, tool := range now {
				if _, known := p[name]; !known {
					p[name] = tool
				}
			}
		}); err != nil {
			return nil, err
		}
	}
	changed = map[string]Difference{}
	for name, tool := range now {
		if before := p[name]; before.Hash != tool.Hash {
			changed[name] = before.difference(name, tool)
		}
	}
	return changed, nil
}
