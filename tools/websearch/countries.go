package websearch

import (
	"slices"
	"strings"
	"sync"
)

// table returns a function that reads pairs of words at first use: the code of a country, and what a service calls it, in which
// _ is a space.
func table(text string) func() map[string]string {
	return sync.OnceValue(func() map[string]string {
		pairs := map[string]string{}
		for pair := range slices.Chunk(strings.Fields(text), 2) {
			pairs[pair[0]] = strings.ReplaceAll(pair[1], "_", " ")
		}
		return pairs
	})
}

// countryCode returns the code of a country in capitals. The United Kingdom is GB, whatever people write.
func countryCode(text string) string {
	code := strings.ToUpper(text)
	if code == "UK" {
		return "GB"
	}
	return code
}

// braveCountries are the values of Brave's parameter country.
var braveCountries = table(`AR AR AT AT AU AU BE BE BR BR CA CA CH CH CL CL CN CN DE DE DK DK ES ES FI FI FR FR GB GB GR GR HK HK
ID ID IN IN IT IT JP JP KR KR MX MX MY MY NL NL NO NO NZ NZ PH PH PL PL PT PT RU RU SA SA SE SE TR TR TW TW US US ZA ZA`)

// searxngLanguages are the languages of countries: SearXNG has no countries, but languages as they are spoken in them.
var searxngLanguages = table(`AR es AT de AU en BE nl BG bg BR pt CA en CH de CL es CN zh CO es CZ cs DE de DK da EE et ES es FI fi
FR fr GB en GR el HK zh HR hr HU hu ID id IE en IL he IN en IT it JP ja KR ko LT lt LV lv MX es MY ms NL nl NO nb NZ en PE es
PH en PL pl PT pt RO ro RU ru SA ar SE sv SG en SI sl SK sk TH th TR tr TW zh UA uk US en VN vi ZA en`)

// tavilyCountries are the values of Tavily's parameter country.
var tavilyCountries = table(`
AF afghanistan AL albania DZ algeria AD andorra AO angola AR argentina AM armenia AU australia AT austria AZ azerbaijan BS bahamas
BH bahrain BD bangladesh BB barbados BY belarus BE belgium BZ belize BJ benin BT bhutan BO bolivia BA bosnia_and_herzegovina
BW botswana BR brazil BN brunei BG bulgaria BF burkina_faso BI burundi KH cambodia CM cameroon CA canada CV cape_verde
CF central_african_republic TD chad CL chile CN china CO colombia KM comoros CG congo CR costa_rica HR croatia CU cuba CY cyprus
CZ czech_republic DK denmark DJ djibouti DO dominican_republic EC ecuador EG egypt SV el_salvador GQ equatorial_guinea ER eritrea
EE estonia ET ethiopia FJ fiji FI finland FR france GA gabon GM gambia GE georgia DE germany GH ghana GR greece GT guatemala
GN guinea HT haiti HN honduras HU hungary IS iceland IN india ID indonesia IR iran IQ iraq IE ireland IL israel IT italy
JM jamaica JP japan JO jordan KZ kazakhstan KE kenya KW kuwait KG kyrgyzstan LV latvia LB lebanon LS lesotho LR liberia LY libya
LI liechtenstein LT lithuania LU luxembourg MG madagascar MW malawi MY malaysia MV maldives ML mali MT malta MR mauritania
MU mauritius MX mexico MD moldova MC monaco MN mongolia ME montenegro MA morocco MZ mozambique MM myanmar NA namibia NP nepal
NL netherlands NZ new_zealand NI nicaragua NE niger NG nigeria KP north_korea MK north_macedonia NO norway OM oman PK pakistan
PA panama PG papua_new_guinea PY paraguay PE peru PH philippines PL poland PT portugal QA qatar RO romania RU russia RW rwanda
SA saudi_arabia SN senegal RS serbia SG singapore SK slovakia SI slovenia SO somalia ZA south_africa KR south_korea SS south_sudan
ES spain LK sri_lanka SD sudan SE sweden CH switzerland SY syria TW taiwan TJ tajikistan TZ tanzania TH thailand TG togo
TT trinidad_and_tobago TN tunisia TR turkey TM turkmenistan UG uganda UA ukraine AE united_arab_emirates GB united_kingdom
US united_states UY uruguay UZ uzbekistan VE venezuela VN vietnam YE yemen ZM zambia ZW zimbabwe`)

// duckRegions are the values of DuckDuckGo's parameter kl, where a country has several languages that of most.
var duckRegions = table(`
AR ar-es AU au-en AT at-de BE be-nl BR br-pt BG bg-bg CA ca-en CL cl-es CN cn-zh CO co-es HR hr-hr CZ cz-cs DK dk-da EE ee-et
FI fi-fi FR fr-fr DE de-de GR gr-el HK hk-tzh HU hu-hu IN in-en ID id-en IE ie-en IL il-en IT it-it JP jp-jp KR kr-kr LV lv-lv
LT lt-lt MY my-en MX mx-es NL nl-nl NZ nz-en NO no-no PK pk-en PE pe-es PH ph-en PL pl-pl PT pt-pt RO ro-ro RU ru-ru SG sg-en
SK sk-sk SI sl-sl ZA za-en ES es-es SE se-sv CH ch-de TW tw-tzh TH th-en TR tr-tr UA ua-uk GB uk-en US us-en VN vn-en`)
