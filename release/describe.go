package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// describe has the binary print its completions, and makes the man page of its help.
func (r *release) describe(ctx context.Context) error {
	for _, c := range []struct{ shell, file string }{{"bash", "toolserver.bash"}, {"zsh", "_toolserver"}, {"fish", "toolserver.fish"}} {
		text, err := r.print(ctx, "completion", c.shell)
		if err != nil {
			return err
		}
		r.pages = append(r.pages, file{name: "completions/" + c.file, mode: 0o644, data: []byte(text)})
	}
	page := manPage{}
	fmt.Fprintf(&page, ".TH TOOLSERVER 1 %s \"%s %s\" \"User Commands\"\n", r.date.Format("2006-01-02"), project, r.version)
	fmt.Fprintf(&page, ".SH NAME\n%s \\- %s\n", project, synopsis)
	if err := r.document(ctx, &page); err != nil {
		return err
	}
	page.text(".SH FILES", "./toolserver.yaml, $XDG_CONFIG_HOME/toolserver/config.yaml:\n"+
		"the configuration; toolserver config init writes one, and toolserver config schema describes it.")
	fmt.Fprintf(&page, ".SH SEE ALSO\n%s\n", quoted(homepage))
	r.pages = append(r.pages, file{name: "man/toolserver.1", mode: 0o644, data: []byte(page.String())})
	return nil
}

// manPage is the source of a man page, as troff reads it.
type manPage struct{ strings.Builder }

// document adds the help of a command and of those below it. The help of the program
// makes the first sections; each other command has a part of COMMANDS.
func (r *release) document(ctx context.Context, page *manPage, command ...string) error {
	help, err := r.print(ctx, append(command, "--help")...)
	if err != nil {
		return err
	}
	parts := sections(help)
	if len(command) == 0 {
		page.verbatim(".SH SYNOPSIS", parts["Usage"])
		page.text(".SH DESCRIPTION", parts[""])
		page.terms(".SH OPTIONS", parts["Flags"])
		page.verbatim(".SH EXIT STATUS", parts["Exit codes"])
		page.text(".SH COMMANDS", "Each category of tools is a command, too, such as "+project+" file TOOL; "+project+" tools lists the tools. The other commands:")
	} else if parts["Usage"] != "" { // the help of categories depends on credentials

		page.verbatim(".SS "+quoted(strings.Join(command, " ")), parts["Usage"])
		page.text(".PP", parts[""])
		page.terms("", helpFlag.ReplaceAllString(parts["Flags"], ""))
	}
	for line := range strings.Lines(parts["Available Commands"]) {
		if name := strings.Fields(line); len(name) > 0 && name[0] != "help" {
			if err := r.document(ctx, page, append(command[:len(command):len(command)], name[0])...); err != nil {
				return err
			}
		}
	}
	return nil
}

// helpFlag is the line about --help, which every command has.
var helpFlag = regexp.MustCompile(`(?m)^ *-h, --help.*\n`)

var heading = regexp.MustCompile(`^([A-Z][A-Za-z ]+):$`)

// sections cuts help at its headings. What is before the first has the name "".
func sections(help string) map[string]string {
	parts, name := map[string]string{}, ""
	for line := range strings.Lines(help) {
		if m := heading.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			name = m[1]
		} else {
			parts[name] += line
		}
	}
	return parts
}

// quoted has troff print a text as it is.
func quoted(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}

func (p *manPage) lines(text string) {
	for line := range strings.Lines(strings.Trim(text, "\n")) {
		p.WriteString(quoted(strings.TrimRight(line, "\n")) + "\n")
	}
}

// verbatim adds lines as they are.
func (p *manPage) verbatim(begin, text string) {
	p.WriteString(begin + "\n.nf\n")
	p.lines(text)
	p.WriteString(".fi\n")
}

// text adds prose. Indented lines, such as examples, stay lines.
func (p *manPage) text(begin, text string) {
	p.WriteString(begin + "\n")
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = quoted(strings.TrimRight(line, "\n"))
		if strings.HasPrefix(line, "  ") {
			line = ".br\n" + `\&` + line
		}
		if line != "" {
			p.WriteString(line + "\n")
		}
	}
}

var option = regexp.MustCompile(`^ *(-.*?)(?: {2,}(.*))?$`)

// terms adds options, each with what it is.
func (p *manPage) terms(begin, text string) {
	if begin != "" {
		p.WriteString(begin + "\n")
	}
	for line := range strings.Lines(text) {
		if m := option.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			p.WriteString(".TP\n.B " + quoted(m[1]) + "\n" + quoted(m[2]) + "\n")
		}
	}
}
