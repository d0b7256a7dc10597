package mail_test

import (
	"testing"

	"github.com/toolserver/toolserver/text/mail"
)

// TestDecodedNames shows names of senders that could be taken for something else.
func TestDecodedNames(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"From", "=?utf-8?Q?ceo=40bank=2Eexample_=3Cceo=40bank=2Eexample=3E?= <evil@attacker.example>", `"ceo@bank.example <ceo@bank.example>" <evil@attacker.example>`},
		{"From", "=?utf-8?Q?M=C3=BCller=2C_J=C3=B6rg?= <jm@x.example>", `"Müller, Jörg" <jm@x.example>`},
		{"To", "=?utf-8?Q?M=C3=BCller=2C?= =?utf-8?Q?_J=C3=B6rg?=\r\n <jm@x.example>, b@x.example", `"Müller, Jörg" <jm@x.example>, b@x.example`},
		{"Cc", "=?utf-8?Q?J=C3=B6rg_M=C3=BCller?= <jm@x.example>", "Jörg Müller <jm@x.example>"},
		{"Bcc", "=?utf-8?Q?Dr=2E_J=C3=B6rg?= <jm@x.example>", "Dr. Jörg <jm@x.example>"},
		{"Reply-To", `"=?utf-8?Q?a=22_=3Cb=40c=3E?=" <e@x.example>`, `"a\" <b@c>" <e@x.example>`},
		{"Reply-To", `"Boss =?utf-8?Q?a=22_=3Cb=40c=3E?= x" <e@x.example>`, `"Boss a\" <b@c> x" <e@x.example>`},
		{"sender", "=?utf-8?B?YQpCY2M6IHhAeA==?= <e@x.example>", `"a Bcc: x@x" <e@x.example>`},
		{"From", "=?utf-8?Q?=3D=3Futf-8=3FQ=3Fx=3F=3D?= <e@x.example>", "=?utf-8?Q?x?= <e@x.example>"},
		{"From", "Bo <bo@x.example>", "Bo <bo@x.example>"},
		{"Subject", "=?utf-8?Q?a=40b=2C_c?=", "a@b, c"},
	} {
		if got := mail.DecodeField(c.name, c.value); got != c.want {
			t.Errorf("%s: %q is %q; want %q", c.name, c.value, got, c.want)
		}
	}
}
