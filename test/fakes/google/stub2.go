package google

type (
	mailbox       struct{}
	calendarData  struct{}
	calendarEntry struct{}
	attachment    struct{}
	Invitation    struct{}
	Calendar      struct{ ID, Summary, TimeZone, Role string }
)

func newMailbox() mailbox { return mailbox{} }

func (f *Fake) gmailHandlers()                         {}
func (f *Fake) calendarHandlers()                      {}
func (f *Fake) addCalendar(u *user, c Calendar) string { return "" }
