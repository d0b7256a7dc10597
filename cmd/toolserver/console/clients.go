package console

import (
	"errors"
	"slices"
	"strings"
)

// clients shows who is connected, and which programs of this machine start the server.
func (v *visit) clients() {
	type known struct {
		Client, Title, File     string
		Found, Installed, Works bool
	}
	var all []known
	_ = v.run(&all, "clients") // v.problem says it
	var connected []node
	for _, s := range v.snapshots(v.r.Context()) {
		for _, c := range s.Clients {
			connected = append(connected, tr("", c.Name+" "+c.Version, c.Protocol, c.Principal, strings.Join(c.Extensions, ", "), c.InFlight, s.By))
		}
	}
	v.show("Clients",
		h2("Connected"), table("Connected", []string{"Client", "Protocol", "Principal", "Extensions", "In flight", "Server"}, group(connected...)),
		when(len(connected) == 0, p("No client is connected.")),
		h2("On this machine"), table("On this machine", []string{"Client", "State", "File", ""}, each(all, func(k known) node {
			state, add := "not here", button("Install")
			switch {
			case k.Works:
				state = "works"
			case k.Installed:
				state, add = "has the entry, which does not start the server", button("Replace", attr("name", "replace"), attr("value", "1"))
			case k.Found:
				state = "found"
			}
			return tr("", k.Title, state, code(k.File), when(k.Found && !k.Works, v.post("clients/install", hide("client", k.Client), add)))
		})))
}

// install adds the server to a client.
func (v *visit) install() {
	var said []struct{ Problem string }
	args := []string{"install", "--", v.r.PostFormValue("client")}
	if v.r.PostFormValue("replace") != "" {
		args = slices.Insert(args, 1, "--force")
	}
	err := v.run(&said, args...)
	for _, s := range said {
		if err != nil && s.Problem != "" {
			err = errors.New(s.Problem)
		}
	}
	v.did(err, "clients")
}
