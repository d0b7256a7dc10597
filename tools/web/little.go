package web

import (
	"fmt"
	"net/url"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/text/html"
)

const (
	// littleText is up to how many characters a page is searched for why there are no more.
	littleText = 2000
	// consentText is up to how many characters a page is one that asks for consent, and not one with a banner.
	consentText = 800
	// hardlyText is up to how many characters a page with scripts is one that they fill.
	hardlyText = 200
)

// explainLittle says why there is little text on an HTML page, and where the rest is; the text of an article that stands only in the
// page's structured data is given. Clues may be those of the page, if they are known.
func (p *page) explainLittle(made *rendered, clues html.Clues, base *url.URL) {
	chars := utf8.RuneCountInString(made.text)
	if chars <= littleText && clues == (html.Clues{}) {
		clues = html.FindClues(p.text, base)
	}
	if utf8.RuneCountInString(clues.ArticleBody) > 2*chars {
		made.text = clues.ArticleBody
		made.notes = []string{"the page shows no article; this is the one in its structured data (JSON-LD)"}
		return
	}
	known := len(made.notes)
	note := func(format string, args ...any) { made.notes = append(made.notes, fmt.Sprintf(format, args...)) }
	if chars <= littleText && clues.Refresh != "" && clues.Refresh != p.url.String() {
		note("the page leads to %.2000s (meta refresh, not followed); fetch that", clues.Refresh)
	}
	if made.hidden > chars && made.hidden > hardlyText {
		note("%s characters that the page hides are left out; include_hidden=true shows them", brief.Thousands(made.hidden))
	}
	switch {
	case len(made.notes) > known:
	case p.size == 0:
		note("the site sent no content")
	case chars <= consentText && isConsent(made.text, p.url):
		note("this looks like a consent page in front of the page; it cannot be answered here, so look for another source")
	case clues.Scripted && (chars == 0 || chars <= hardlyText && (asksForScripts().MatchString(made.text) || emptyRoot().MatchString(p.text))):
		note("the page has hardly any text: scripts fill it, and they are not run; look for its API, a feed or another source")
	case chars == 0 && p.title != "":
		note("the page has only a title")
	case chars == 0:
		note("the page has no text")
	}
}

var (
	// Consent pages speak of what they ask consent to, and have a button for all of it.
	consentWords = lazyregexp.New(`(?i)\bcookies?\b|\bconsent\b|datenschutz|before you continue|privacy`)
	acceptAll    = lazyregexp.New(`(?i)\b(?:accept|allow|agree to)(?: all|\b.{0,20}cookies)|alle (?:akzeptieren|annehmen)|alles accepteren|` +
		`tout accepter|accepter tout|aceptar todo|accetta tutt|aceitar tudo|i agree\b`)
	// Pages that scripts fill have words for those who run none, or an element for the rest.
	asksForScripts = lazyregexp.New(`(?i)java ?script`)
	emptyRoot      = lazyregexp.New(`(?i)<(?:div|main|section)[^>]{1,200}\bid=["']?(?:root|app|app-root|react-root|__next|__nuxt|main-app|svelte)["']?` +
		`[^>]{0,200}>\s*</`)

	consentHost = lazyregexp.New(`(?i)^(?:consent|guce)\.|/cookie-?consent`)
)

// isConsent reports whether a page with little text asks for consent.
func isConsent(text string, u *url.URL) bool {
	return consentHost().MatchString(u.Host+u.Path) || consentWords().MatchString(text) && acceptAll().MatchString(text)
}
