package signin

import "errors"

// Errors of sign-ins, as clauses for people.
var (
	errExpired  = errors.New("nobody completed it in time")
	errTries    = errors.New("a wrong token was entered too often")
	errCanceled = errors.New("it was canceled")
)

// DeniedError is the error of a sign-in that a person has not allowed.
type DeniedError struct{ Provider string }

func (e DeniedError) Error() string { return "it was not allowed on " + e.Provider + "'s page" }

// closedError is the error of sign-ins that a desk ends when it is closed.
type closedError struct{ settings string }

func (e closedError) Error() string {
	return "the server is shutting down, or its settings for " + e.settings + " have changed"
}

// Errors of pasted addresses. They can be corrected by pasting again.
var (
	ErrNoAddress = errors.New("this is not the address that the browser ended at: paste all of it, beginning with http://127.0.0.1")
	ErrConsent   = errors.New("this is the address that the sign-in begins with: open it, allow the access, and paste the address that the browser ends at")
	ErrOther     = errors.New("this address belongs to another sign-in: open the URL that was printed last")
)

// ErrUsed is the error of an address that is pasted twice.
var ErrUsed = errors.New("this sign-in was completed before: begin a new one")

// PasteAgain reports whether another address can be pasted after an error of [Pasted.Finish].
func PasteAgain(err error) bool {
	return errors.Is(err, ErrNoAddress) || errors.Is(err, ErrConsent) || errors.Is(err, ErrOther)
}
