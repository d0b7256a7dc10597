package main

import (
	"fmt"
	"strings"
)

// What the project is called where it is published. Whoever publishes a fork changes
// this file and nothing else.
const (
	project     = "toolserver"
	title       = "Toolserver"
	summary     = "Files, commands, the web and other MCP servers for any MCP client, under one policy"
	synopsis    = "tools for MCP clients and people, under one policy" // after the name
	description = "Toolserver is a Model Context Protocol (MCP) server: one static binary that gives MCP clients files, commands, " +
		"the web, mail, calendar and system information, and puts other MCP servers behind the same policy. It speaks stdio and Streamable HTTP."
	owner        = "toolserver"
	maintainer   = "The toolserver authors <toolserver@users.noreply.github.com>"
	homepage     = "https://github.com/" + owner + "/" + project
	license      = "Apache-2.0"
	registryName = "io.github." + owner + "/" + project // in the MCP registry, and the label of the image
	imageName    = "ghcr.io/" + owner + "/" + project
	npmName      = "@" + owner + "/" + project // of the main package; the others begin with it
	wingetName   = "Toolserver.Toolserver"     // publisher and package
)

// A version has its number in the names of its files.
type version string

// archive returns the name of the archive of a platform.
func (v version) archive(p platform) string {
	extension := ".tar.gz"
	if p.os == "windows" {
		extension = ".zip"
	}
	return strings.Join([]string{project, string(v), p.os, p.arch}, "_") + extension
}

// bundle returns the name of the bundle of a platform.
func (v version) bundle(p platform) string {
	return fmt.Sprintf("%s-%s-%s-%s.mcpb", project, v, p.os, p.arch)
}

// download returns the address at which a file of the release will be.
func (v version) download(file string) string {
	return homepage + "/releases/download/v" + string(v) + "/" + file
}

// A secret is a credential that people give in forms of clients.
type secret struct{ Variable, Title, Use string }

func secrets() []secret {
	return []secret{
		{"BRAVE_API_KEY", "Brave Search API key", "For web_search; leave it empty if you do not search the web."},
		{"TAVILY_API_KEY", "Tavily API key", "For web_search, instead of Brave or beside it."},
		{"TOOLSERVER_ANTHROPIC_API_KEY", "Anthropic API key", "For claude_conversation, which asks a Claude model."},
	}
}
