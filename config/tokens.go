package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/toolserver/toolserver/config/yamlconf"
	"github.com/toolserver/toolserver/config/yamledit"
	"github.com/toolserver/toolserver/server"
)

// serverSection is where tokens are.
var serverSection = yamledit.Section{Key: "server"}

// AddToken adds an entry to server.tokens in the configuration file, or in a new one if there is none.
func AddToken(o Overrides, t server.Token) (Edited, error) {
	return editTokens(o, func(list *yaml.Node) error {
		if slices.ContainsFunc(list.Content, called(t.Name)) {
			return fmt.Errorf("there is a token of the name %q already; toolserver token rotate makes another one for the same principal", t.Name)
		}
		list.Content = append(list.Content, yamlconf.Node(t))
		return nil
	})
}

// RotateToken adds another token of a name with a hash, for the same principal, and has those there are expire.
func RotateToken(o Overrides, name, hash string, old time.Time) (Edited, error) {
	return editTokens(o, func(list *yaml.Node) error {
		var last *yaml.Node
		for _, entry := range list.Content {
			if !called(name)(entry) {
				continue
			}
			last = entry
			if now := member(entry, "expires"); now == nil {
				entry.Content = append(entry.Content, yamledit.Scalar("expires"), expiry(old))
			} else if at, err := time.Parse(time.RFC3339, now.Value); err != nil || at.After(old) {
				*now = *expiry(old)
			}
		}
		if last == nil {
			return noToken(name)
		}
		fresh := &yaml.Node{Kind: yaml.MappingNode}
		for i := 0; i+1 < len(last.Content); i += 2 {
			switch key, value := last.Content[i], last.Content[i+1]; key.Value {
			case "hash":
				fresh.Content = append(fresh.Content, yamledit.Scalar("hash"), yamledit.Scalar(hash))
			case "expires":
			default:
				fresh.Content = append(fresh.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key.Value}, value)
			}
		}
		list.Content = append(list.Content, fresh)
		return nil
	})
}

// RevokeToken removes the entries of a name from server.tokens: all, or the one whose ID begins like that.
func RevokeToken(o Overrides, name, id string) (Edited, error) {
	return editTokens(o, func(list *yaml.Node) error {
		before := len(list.Content)
		list.Content = slices.DeleteFunc(list.Content, func(entry *yaml.Node) bool {
			return called(name)(entry) && strings.HasPrefix(TokenID(cmp.Or(member(entry, "hash"), &yaml.Node{}).Value), id)
		})
		switch removed := before - len(list.Content); {
		case removed == 0 && id == "":
			return noToken(name)
		case removed == 0:
			return fmt.Errorf("%s has no token whose ID begins with %s; toolserver token list shows them", name, id)
		case removed > 1 && id != "":
			return fmt.Errorf("%s has %d tokens whose ID begins with %s; write more of it", name, removed, id)
		}
		return nil
	})
}

// TokenID returns how a token is called where it must not be shown: the first digits of its hash.
func TokenID(hash string) string {
	_, digits, _ := strings.Cut(hash, ":")
	return digits[:min(len(digits), 12)]
}

func noToken(name string) error {
	return fmt.Errorf("there is no token of the name %q in server.tokens; toolserver token list shows them", name)
}

func editTokens(o Overrides, change func(list *yaml.Node) error) (Edited, error) {
	return edit(o, serverSection, func(text []byte) ([]byte, []string, error) {
		list, err := yamledit.Find(text, serverSection, "tokens")
		if err != nil {
			return nil, nil, err
		}
		if list == nil || list.Tag == "!!null" {
			list = &yaml.Node{Kind: yaml.SequenceNode}
		}
		if list.Kind != yaml.SequenceNode || slices.ContainsFunc(list.Content, func(n *yaml.Node) bool { return n.Kind != yaml.MappingNode }) {
			return nil, nil, fmt.Errorf("server.tokens is no list of entries; edit it by hand")
		}
		if err := change(list); err != nil {
			return nil, nil, err
		}
		text, err = yamledit.Set(text, serverSection, "tokens", list)
		return text, []string{"tokens"}, err
	})
}

// called returns whether an entry has a name.
func called(name string) func(*yaml.Node) bool {
	return func(entry *yaml.Node) bool { n := member(entry, "name"); return n != nil && n.Value == name }
}

func member(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

func expiry(at time.Time) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!timestamp", Value: at.UTC().Format(time.RFC3339)}
}
