package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestUpstreamsNames has tools with names that clients do not take, names given twice,
// and names that become the same: each is called by the name that is listed, which is
// the same the next time.
func TestUpstreamsNames(t *testing.T) {
	t.Parallel()
	s := openHostile(t, "limits: {page_size: 50}\n",
		entry("odd", "", upstreamBinary(t), "--offer", "names"), entry("twice", "", upstreamBinary(t), "--offer", "duplicates"),
		entry("collide", "", upstreamBinary(t), "--offer", "collide"), entry("undescribed", "", upstreamBinary(t), "--offer", "undescribed"),
		entry("server.with-dots_and_a_long_name_that_takes_nearly_all_there_is", "", upstreamBinary(t)))
	for _, prefix := range []string{"odd__", "twice__", "collide__", "undescribed__", "server"} {
		eventually(t, prefix+" is listed", func() bool { return len(s.names(prefix)) > 0 })
	}
	before := s.tools()
	checkListed(t, before)
	said := map[string]string{}
	for _, prefix := range []string{"odd__", "collide__"} {
		for _, name := range s.names(prefix) {
			a := s.call(name, nil)
			if a.failed() || !strings.HasPrefix(a.text(), "I am ") || said[a.text()] != "" {
				t.Errorf("%s says %q, as does %q; %+v", name, a.text(), said[a.text()], a.Error)
			}
			said[a.text()] = name
		}
	}
	if len(said) < 15 {
		t.Errorf("only these are offered: %v", said)
	}
	if doubles := s.names("twice__"); len(doubles) != 2 {
		t.Errorf("of a name given twice and another one, %q are listed", doubles)
	}
	s.checked("double")
	s.in.Close()
	s.succeeded()
	s = reopenGateway(t, s)
	for _, prefix := range []string{"odd__", "twice__", "collide__", "undescribed__", "server"} {
		eventually(t, prefix+" is listed", func() bool { return len(s.names(prefix)) > 0 })
	}
	var first, second []string
	for _, tool := range before {
		first = append(first, tool.Name)
	}
	for _, tool := range s.tools() {
		second = append(second, tool.Name)
	}
	slices.Sort(first)
	slices.Sort(second)
	if !slices.Equal(first, second) {
		t.Errorf("after a restart, the names are %q; before they were %q", second, first)
	}
}

// TestUpstreamsPins has a tool that is known change its description, schema or
// annotations: with pin: quarantine it is held back until a person approves of it, also
// after a restart; with pin: warn it is reported.
func TestUpstreamsPins(t *testing.T) {
	t.Parallel()
	for _, change := range []string{"description", "schema", "annotations"} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			of := func(name, pin string) string {
				return entry(name, ", pin: "+pin, upstreamBinary(t), "--offer", "good,bad", "--change", filepath.Join(dir, name))
			}
			s := openGateway(t, gateway(of("held", "quarantine"), of("warned", "warn")))
			s.awaits("held__echo")
			s.awaits("warned__echo")
			for _, name := range []string{"held", "warned"} {
				s.works(name)
				s.says(name+"__change", map[string]any{"kind": change}, "changed")
			}
			gone := func() bool { return !slices.Contains(s.names("held__"), "held__echo") }
			eventually(t, "the changed tool is held back", gone)
			s.refused("held__echo", map[string]any{"message": "x"}, "held__echo")
			s.refused("held_echo", map[string]any{"message": "x"}, "held_echo")
			s.refused("mcp_exec", map[string]any{"server": "held", "tool": "echo", "args": map[string]any{"message": "x"}}, "echo")
			s.says("held__announce", nil, "announced") // others are not
			s.checked("held__echo", "upstream approve held", "server warned changed")
			s.in.Close()
			s.succeeded()
			s = reopenGateway(t, s)
			s.awaits("held__announce")
			s.awaits("warned__echo")
			if !gone() {
				t.Error("after a restart, the changed tool is listed")
			}
			shown := s.run("upstream", "approve", "held", "--yes")
			if !strings.Contains(shown, "echo") || change == "description" && !strings.Contains(shown, "id_rsa") {
				t.Errorf("approve shows %s", shown)
			}
			s.awaits("held__echo")
			args := map[string]any{"message": "é held", "secret": "x"}
			if change != "schema" {
				delete(args, "secret")
			}
			s.says("held__echo", args, "é held")
		})
	}
}

// checked waits until toolserver check says all of the words.
func (s *gatewayServer) checked(words ...string) {
	s.t.Helper()
	for _, word := range words {
		check := ""
		eventually(s.t, fmt.Sprintf("check has %q", word), func() bool {
			check = s.run("check")
			return strings.Contains(check, word)
		})
	}
}
