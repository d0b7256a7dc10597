package clients

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/clients/edit"
)

// Server is what an entry lets a client start, or connect to.
type Server struct {
	Name     string
	Command  string
	Args     []string
	Env      []Variable
	URL      string // instead of a command
	TokenEnv string // variable that has the token for the address; may be empty
}

// Variable is a variable of the server's environment.
type Variable struct {
	Name, Value string
	Given       bool // its value is written; else the entry refers to the client's own
}

// part is something that an entry consists of: the entry itself, and inputs that it refers to.
type part struct {
	place edit.Place
	entry edit.Object
}

// entry returns what is written for a server. The keys are those of the section.
func (c Client) entry(s Server, place edit.Place) (_ []part, err error) {
	shape := c.Shape
	var e edit.Object
	var inputs []part
	add := func(name string, value any) { e = append(e, edit.Member{Name: name, Value: value}) }
	refer := func(name string) string {
		if shape.Reference == "" {
			err = cmp.Or(err, fmt.Errorf("%s cannot refer to a variable in its file: "+
				"give toolserver the secret in its configuration file (${file:/path}), or write it into the entry with %s=VALUE", c.Title, name))
		}
		if shape.Inputs {
			id := s.Name + "-" + name
			asks := edit.Object{
				{Name: "type", Value: "promptString"}, {Name: "id", Value: id},
				{Name: "description", Value: name + " of " + s.Name}, {Name: "password", Value: true},
			}
			inputs = append(inputs, part{edit.Place{Keys: []string{"inputs"}, ID: "id", Name: id}, asks})
			name = id
		}
		return strings.ReplaceAll(shape.Reference, "NAME", name)
	}
	if begin, _, ok := strings.Cut(shape.Reference, "NAME"); ok {
		variable := regexp.MustCompile(regexp.QuoteMeta(begin) + `\{?\w`)
		texts := append([]string{s.Command, s.URL}, s.Args...)
		for _, v := range s.Env {
			texts = append(texts, v.Value)
		}
		if i := slices.IndexFunc(texts, variable.MatchString); i > 1+len(s.Args) {
			name := s.Env[i-2-len(s.Args)].Name
			return nil, fmt.Errorf("the value of %s has %q, which %s takes for a variable: --env %[1]s writes a reference instead", name, begin, c.Title)
		} else if i >= 0 {
			return nil, fmt.Errorf("%q has %q, which %s takes for a variable: use another path", texts[i], begin, c.Title)
		}
	}
	if shape.Named {
		add("name", s.Name)
	}
	if s.URL != "" {
		if shape.URL == "" {
			return nil, fmt.Errorf("the file of %s takes no address; %s", c.Title, strings.Join(c.Notes, " "))
		}
		if shape.RemoteType != "" {
			add("type", shape.RemoteType)
		}
		add(shape.URL, s.URL)
		switch {
		case s.TokenEnv == "":
		case shape.TokenEnv != "":
			add(shape.TokenEnv, s.TokenEnv)
		default:
			var value any = edit.Object{{Name: "Authorization", Value: "Bearer " + refer(s.TokenEnv)}}
			path := strings.Split(cmp.Or(shape.Headers, "headers"), ".")
			for _, key := range slices.Backward(path[1:]) {
				value = edit.Object{{Name: key, Value: value}}
			}
			add(path[0], value)
		}
	} else {
		if shape.Type != "" {
			add("type", shape.Type)
		}
		command, args := cmp.Or(shape.Command, "command"), s.Args
		if !c.ShowsErrors {
			args = append(slices.Clone(args), "--errors", "result")
		}
		if shape.Argv {
			add(command, append([]string{s.Command}, args...))
		} else {
			add(command, s.Command)
			add("args", args)
		}
	}
	var env edit.Object
	var names []string
	for _, v := range s.Env {
		switch {
		case v.Given:
			env = append(env, edit.Member{Name: v.Name, Value: v.Value})
		case shape.EnvNames != "":
			names = append(names, v.Name)
		default:
			env = append(env, edit.Member{Name: v.Name, Value: refer(v.Name)})
		}
	}
	if env != nil {
		add(cmp.Or(shape.Env, "env"), env)
	}
	if names != nil {
		add(shape.EnvNames, names)
	}
	return append([]part{{place, append(e, shape.More...)}}, inputs...), err
}
