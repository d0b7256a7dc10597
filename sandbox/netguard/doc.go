// Package netguard keeps HTTP clients to the public internet. It judges the
// address that is dialled, after names are resolved and for each attempt, so
// that neither redirects nor names whose answers change nor odd notations lead
// to this machine, its network or its cloud's metadata service. What lies there
// is reached only where policy names it ([ParseHost]).
package netguard
