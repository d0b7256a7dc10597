package httpcall

import (
	"context"
	"net/http"
)

// UserAgent is a browser's, for sites that show nothing to others.
const UserAgent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"

// Product is what a [Caller] tells services, unless its request says something
// else. It does not pretend to be a browser.
const Product = "Mozilla/5.0 (compatible; toolserver)"

// PageRequest returns a request for a page that is written for people.
func PageRequest(ctx context.Context, target, userAgent string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	req.Header.Set("Accept-Language", "en-US,en;q=0.5")
	return req, nil
}
