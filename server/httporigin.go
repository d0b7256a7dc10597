package server

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"toolserver/domain"
)

// mcpHeaders are the headers MCP clients in browsers send and read.
const (
	requestHeaders  = "Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name"
	responseHeaders = "Mcp-Session-Id, WWW-Authenticate"
)

// checkOrigin keeps web pages from talking to a server on their visitor's
// machine, be it directly or by a name of theirs that resolves to it (DNS
// rebinding). It answers a refused request itself.
func (h *httpHandler) checkOrigin(w http.ResponseWriter, r *http.Request) bool {
	if !h.hostAllowed(r.Host) {
		http.Error(w, "host "+domain.ClipName(r.Host)+" is not allowed; configure server.allowed_hosts", http.StatusForbidden)
		return false
	}
	origin := r.Header.Get("Origin")
	if len(r.Header.Values("Origin")) > 1 {
		http.Error(w, "there is more than one Origin header", http.StatusForbidden)
		return false
	}
	if origin == "" {
		return true
	}
	listed := slices.Contains(h.opts.AllowedOrigins, origin)
	if !listed && !sameOrigin(origin, r.Host) {
		http.Error(w, "origin "+domain.ClipName(origin)+" is not allowed; configure server.allowed_origins", http.StatusForbidden)
		return false
	}
	if listed {
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Expose-Headers", responseHeaders)
		w.Header().Add("Vary", "Origin")
	}
	return true
}

// sameOrigin reports whether a page of origin was served by host, on this
// machine: of other hosts only configuration can say.
func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && isLoopback(u.Host) && (u.Scheme == "http" || u.Scheme == "https") && isLoopback(host)
}

// hostAllowed reports whether clients may know this server as host.
func (h *httpHandler) hostAllowed(host string) bool {
	name := hostname(host)
	if slices.ContainsFunc(h.opts.AllowedHosts, func(allowed string) bool { return strings.EqualFold(allowed, name) || strings.EqualFold(allowed, host) }) {
		return true
	}
	return isLoopback(host) || h.opts.AnyHost && len(h.opts.AllowedHosts) == 0
}

func isLoopback(host string) bool {
	name := hostname(host)
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// hostname returns host without port and brackets.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// preflight answers the question browsers ask before they send a request to
// another origin.
func preflight(w http.ResponseWriter) {
	w.Header().Set("Access-Control-Allow-Methods", "POST, GET, DELETE")
	w.Header().Set("Access-Control-Allow-Headers", requestHeaders)
	w.Header().Set("Access-Control-Max-Age", "86400")
	w.WriteHeader(http.StatusNoContent)
}
