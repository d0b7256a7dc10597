package app

import (
	"errors"

	"toolserver/tools/google/signin"
)

// Google returns the sign-ins to Google. The error says what is not configured.
func (a *App) Google() (*signin.Accounts, error) {
	return nil, errors.New("Google is not configured: set GOOGLE_CLIENT_ID and GOOGLE_CLIENT_SECRET")
}
