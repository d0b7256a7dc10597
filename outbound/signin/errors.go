package signin

import "errors"

// Errors of sign-ins, as clauses for people.
var (
	errExpired = errors.New("nobody completed it in time")
	errTries   = errors.New("a wrong token was entered too often")
)

// DeniedError is the error of a sign-in that a person has not allowed.
type DeniedError struct{ Provider string }

func (e DeniedError) Error() string { return "it was not allowed on " + e.Provider + "'s page" }

// Errors of pasted addresses. They can be corrected by pasting again.
var (
	ErrNoAddress = errors.New("this is not the address that the browser ended at: paste all of it, with what follows the ?")
	ErrConsent   = errors.New("this is the address that the sign-in begins with: open it, allow the access, and paste the address that the browser ends at")
	ErrOther     = errors.New("this address belongs to another sign-in: open the URL that was printed last")
)

// ErrUsed is the error of an address that is pasted twice.
var ErrUsed = errors.New("this sign-in was completed before: begin a new one")

// PasteAgain reports whether another address can be pasted after an error of [Pasted.Finish].
func PasteAgain(err error) bool {
	return errors.Is(err, ErrNoAddress) || errors.Is(err, ErrConsent) || errors.Is(err, ErrOther)
}
