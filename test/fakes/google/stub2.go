package google

type (
	calendarData  struct{}
	calendarEntry struct{}
	Invitation    struct{}
	Calendar      struct{ ID, Summary, TimeZone, Role string }
)

func (f *Fake) calendarHandlers()                      {}
func (f *Fake) addCalendar(u *user, c Calendar) string { return "" }
