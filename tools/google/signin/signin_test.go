package signin

import (
	_ "github.com/chromedp/chromedp"
	_ "github.com/emersion/go-message/mail"
	_ "golang.org/x/oauth2"
)
