package netguard_test

import (
	"strings"

	"github.com/toolserver/toolserver/sandbox/netguard"
)

// hosts are hosts of URLs in every notation, and what is said of them.
var hosts = []struct {
	host string
	want netguard.Rule
}{
	// Public.
	{"example.com", ""}, {"EXAMPLE.com", ""}, {"example.com.", ""}, {"example.com:80", ""}, {"example.com:65535", ""},
	{"example.com:0443", ""},
	{"sub.domain.example.co.uk", ""}, {"xn--bcher-kva.example", ""}, {"bücher.example", ""}, {"ｅｘａｍｐｌｅ.com", ""}, {"example。com", ""},
	{"under_score.example", ""}, {"8.8.8.8", ""}, {"1.1.1.1:8080", ""}, {"93.184.216.34", ""}, {"[2606:4700::1111]", ""},
	{"[2606:4700::1111]:8443", ""},
	{"[2606:4700:0:0:0:0:0:1111]", ""}, {"[64:ff9b::808:808]", ""}, {"[64:ff9b::8.8.8.8]", ""}, {"127.example", ""}, {"0x7f.example", ""},
	{"localhost.example", ""}, {"notlocalhost", ""}, {"metadata.example", ""}, {"1.2.3.4.5.example", ""}, {"0xg", ""}, {"127.0.0.1e1", ""},

	// This machine.
	{"127.0.0.1", netguard.Loopback}, {"127.0.0.1:80", netguard.Loopback}, {"127.0.0.1:65535", netguard.Loopback},
	{"127.255.255.254", netguard.Loopback},
	{"127.0.0.1.", netguard.Loopback}, {"127.1", netguard.Loopback}, {"127.0.1", netguard.Loopback}, {"127.65535", netguard.Loopback},
	{"2130706433", netguard.Loopback}, {"017700000001", netguard.Loopback}, {"0x7f000001", netguard.Loopback},
	{"0X7F000001", netguard.Loopback},
	{"0x7F.0.0.1", netguard.Loopback}, {"0x7f.1", netguard.Loopback}, {"0177.0.0.1", netguard.Loopback}, {"0177.0.0.01", netguard.Loopback},
	{"00000177.0.0.1", netguard.Loopback}, {"0x000000007f.0x0.0x0.0x1", netguard.Loopback}, {"127.0x000001", netguard.Loopback},
	{"127.0.0.0x1", netguard.Loopback},
	{"0177.0x0.1", netguard.Loopback}, {"127.0.0.00000000000001", netguard.Loopback}, {"0x7f.0x", netguard.Loopback},
	{"127.0x.0x.0x1", netguard.Loopback},
	{"①②⑦.⓪.⓪.①", netguard.Loopback}, {"１２７.０.０.１", netguard.Loopback}, {"127。0。0。1", netguard.Loopback}, {"127．0．0．1", netguard.Loopback},
	{"127｡0｡0｡1", netguard.Loopback}, {"①②⑦。1", netguard.Loopback}, {"𝟏𝟐𝟕.𝟎.𝟎.𝟏", netguard.Loopback}, {"¹²⁷.0.0.₁", netguard.Loopback},
	{"０ｘ７ｆ.1", netguard.Loopback},
	{"２１３０７０６４３３", netguard.Loopback}, {"127.0.0.1。", netguard.Loopback}, {"%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1", netguard.Loopback},
	{"[::1]", netguard.Loopback}, {"[::1]:8080", netguard.Loopback}, {"[0:0:0:0:0:0:0:1]", netguard.Loopback},
	{"[0000:0000:0000:0000:0000:0000:0000:0001]", netguard.Loopback},
	{"[::0.0.0.1]", netguard.Loopback}, {"[::ffff:127.0.0.1]", netguard.Loopback}, {"[::ffff:7f00:1]", netguard.Loopback},
	{"[::FFFF:7F00:0001]", netguard.Loopback},
	{"[0:0:0:0:0:ffff:127.0.0.1]", netguard.Loopback}, {"[::127.0.0.1]", netguard.Loopback}, {"[::7f00:1]", netguard.Loopback},
	{"[64:ff9b::127.0.0.1]", netguard.Loopback}, {"[64:ff9b::7f00:1]", netguard.Loopback},
	{"localhost", netguard.Loopback}, {"LOCALHOST", netguard.Loopback}, {"localhost.", netguard.Loopback},
	{"LocalHost.:80", netguard.Loopback}, {"a.localhost", netguard.Loopback},
	{"a.b.LOCALHOST.", netguard.Loopback}, {"ｌｏｃａｌｈｏｓｔ", netguard.Loopback}, {"ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", netguard.Loopback},
	{"localhost。", netguard.Loopback},
	{"a。localhost", netguard.Loopback},
	{"%E2%93%9B%E2%93%9E%E2%93%92%E2%93%90%E2%93%9B%E2%93%97%E2%93%9E%E2%93%A2%E2%93%A3", netguard.Loopback},
	{"local\u00adhost", netguard.Loopback},

	// No address, which systems take for this machine.
	{"0", netguard.Unspecified}, {"0.", netguard.Unspecified}, {"0.0", netguard.Unspecified}, {"0.0.0.0", netguard.Unspecified},
	{"00.00.00.00", netguard.Unspecified},
	{"0x0", netguard.Unspecified}, {"0x", netguard.Unspecified}, {"0x.0x.0x.0x", netguard.Unspecified}, {"0.0.0.1", netguard.Unspecified},
	{"0.1", netguard.Unspecified},
	{"⓪", netguard.Unspecified}, {"０", netguard.Unspecified}, {"[::]", netguard.Unspecified}, {"[::]:80", netguard.Unspecified},
	{"[0:0:0:0:0:0:0:0]", netguard.Unspecified},
	{"[::0]", netguard.Unspecified}, {"[::ffff:0.0.0.0]", netguard.Unspecified}, {"[::ffff:0:0]", netguard.Unspecified},
	{"[64:ff9b::]", netguard.Unspecified},

	// Other notations of what is not public.
	{"10.1", netguard.Private}, {"012.0.0.1", netguard.Private}, {"0xa000001", netguard.Private}, {"167772161", netguard.Private},
	{"192.168.257", netguard.Private},
	{"0300.0250.0.1", netguard.Private}, {"3232235521", netguard.Private}, {"172.1048577", netguard.Private}, {"①⓪.1", netguard.Private},
	{"[::ffff:10.0.0.1]", netguard.Private}, {"[::10.0.0.1]", netguard.Private}, {"[fd00::1]", netguard.Private},
	{"[FD00::1]", netguard.Private}, {"[fec0::1]", netguard.Private},
	{"169.254.1", netguard.LinkLocal}, {"[fe80::1]", netguard.LinkLocal}, {"[::ffff:169.254.0.1]", netguard.LinkLocal},
	{"[2002:7f00:1::]", netguard.SixToFour}, {"[2002:808:808::1]", netguard.SixToFour},
	{"[2001:0:4136:e378:8000:63bf:3fff:fdd2]", netguard.Teredo},
	{"[2606:4700::5efe:127.0.0.1]", netguard.ISATAP}, {"[2606:4700::200:5efe:10.0.0.1]", netguard.ISATAP}, {"4294967295", netguard.Broadcast},
	{"0xffffffff", netguard.Broadcast}, {"[64:ff9b::10.0.0.1]", netguard.Private}, {"[64:ff9b:1::8.8.8.8]", netguard.NAT64},
	{"1684301000", netguard.Metadata},

	// Metadata services.
	{"169.254.169.254", netguard.Metadata}, {"169.254.43518", netguard.Metadata}, {"2852039166", netguard.Metadata},
	{"0xa9fea9fe", netguard.Metadata},
	{"0251.0376.0251.0376", netguard.Metadata}, {"0xA9.0xFE.0xA9.0xFE", netguard.Metadata}, {"①⑥⑨.②⑤④.①⑥⑨.②⑤④", netguard.Metadata},
	{"[::ffff:169.254.169.254]", netguard.Metadata}, {"[::ffff:a9fe:a9fe]", netguard.Metadata}, {"[::169.254.169.254]", netguard.Metadata},
	{"[64:ff9b::a9fe:a9fe]", netguard.Metadata}, {"[fd00:ec2::254]", netguard.Metadata}, {"[fd00:0ec2:0:0::254]", netguard.Metadata},
	{"168.63.129.16", netguard.Metadata},
	{"metadata.google.internal", netguard.Metadata}, {"METADATA.google.internal.", netguard.Metadata}, {"metadata", netguard.Metadata},
	{"ｍetadata", netguard.Metadata},
	{"metadata.goog", netguard.Metadata}, {"instance-data", netguard.Metadata}, {"instance-data.ec2.internal", netguard.Metadata},
	{"metadata.google。internal", netguard.Metadata},

	// Zones.
	{"[::1%25lo]", netguard.Zone}, {"[fe80::1%25eth0]", netguard.Zone}, {"[fe80::1%25eth0]:80", netguard.Zone},
	{"[2606:4700::1111%25x]", netguard.Zone}, {"[::%251]", netguard.Zone},
	{"[fe80::a9fe:a9fe%25eth0]", netguard.Zone}, {"[::ffff:127.0.0.1%25lo]", netguard.Zone},

	// Public, and not as it is written.
	{"8.8.2056", netguard.Notation}, {"134744072", netguard.Notation}, {"0x08080808", netguard.Notation}, {"010.8.8.8", netguard.Notation},
	{"8.8.8.8.", netguard.Notation},
	{"⑧.⑧.⑧.⑧", netguard.Notation}, {"８.８.８.８", netguard.Notation}, {"8。8。8。8", netguard.Notation}, {"[::ffff:8.8.8.8]", netguard.Notation},
	{"[::ffff:808:808]", netguard.Notation},

	// Ports.
	{"example.com:0", netguard.Port}, {"example.com:00", netguard.Port}, {"example.com:65536", netguard.Port},
	{"example.com:99999999999999999999", netguard.Port},
	{"example.com:", netguard.Port}, {"8.8.8.8:", netguard.Port}, {"[2606:4700::1111]:", netguard.Port}, {"example.com:22", netguard.Port},
	{"example.com:025", netguard.Port},
	{"8.8.8.8:6379", ""}, {"8.8.8.8:53", netguard.Port}, {"[2606:4700::1111]:6667", netguard.Port}, {"example.com:10080", netguard.Port},
	{"127.0.0.1:22", netguard.Loopback},
	{"example.com:-1", invalid}, {"example.com:http", invalid}, {"example.com:+80", invalid}, {"example.com:8 0", invalid},
	{"example.com:８０", invalid}, {"example.com:80:80", invalid},

	// With a user.
	{"user@example.com", netguard.UserInfo}, {"user:password@example.com", netguard.UserInfo}, {"@example.com", netguard.UserInfo},
	{":@127.0.0.1", netguard.UserInfo},
	{"example.com@127.0.0.1", netguard.UserInfo}, {"example.com:80@127.0.0.1", netguard.UserInfo},
	{"127.0.0.1@example.com", netguard.UserInfo},
	{"example.com%2f@127.0.0.1", netguard.UserInfo}, {"user@" + strings.Repeat("a", 5000), netguard.UserInfo},

	// No hosts.
	{"", invalid}, {":80", invalid}, {".", invalid}, {"..", invalid}, {".example.com", invalid}, {"example..com", invalid},
	{"example.com..", invalid}, {"localhost..", invalid},
	{"metadata.google.internal..", invalid}, {"127.0.0.1..", invalid}, {".127.0.0.1", invalid}, {"127..0.1", invalid}, {"。", invalid},
	{"[]", invalid}, {"[]:80", invalid},
	{"[", invalid}, {"]", invalid}, {"[::1", invalid}, {"::1", invalid}, {"::1:80", invalid}, {"[::1]a", invalid}, {"[::1]]", invalid},
	{"[[::1]]", invalid}, {"a[::1]", invalid},
	{"[127.0.0.1]", invalid}, {"[localhost]", invalid}, {"[::1.2.3]", invalid}, {"[::1::]", invalid}, {"[12345::]", invalid},
	{"[1:2:3:4:5:6:7]", invalid}, {"[::%25]", invalid},
	{"[::ffff:127.1]", invalid}, {"[::ffff:0177.0.0.1]", invalid}, {"[::①]", invalid},
	{"256.0.0.1", invalid}, {"127.0.0.256", invalid}, {"127.16777216", invalid}, {"127.0.65536", invalid}, {"4294967296", invalid},
	{"4294967297", invalid}, {"0x100000000", invalid},
	{"18446744073709551617", invalid}, {"0x10000000000000000000000007f000001", invalid}, {"020000000000000000000017700000001", invalid},
	{"040000000000", invalid},
	{"127.0.0.1.1", invalid}, {"1.2.3.4.5", invalid}, {"08.0.0.1", invalid}, {"127.0.0.09", invalid}, {"127.0.0.0x100", invalid},
	{"foo.1", invalid}, {"example.0x7f", invalid}, {"1.a.2", invalid},
	{"%31%32%37.0.0.1", invalid}, {"127%2e0%2e0%2e1", invalid}, {"localhost%00", invalid}, {"localhost%00.example.com", invalid},
	{"example.com%20", invalid}, {"127.0.0.1%0a", invalid}, {"127.0.0.1%23.example.com", invalid}, {"%", invalid}, {"%zz", invalid},
	{"%6cocalhost", invalid},
	{"127.0.0.1\t", invalid}, {"127.0\n.0.1", invalid}, {"local\thost", invalid}, {"localhost\r\n", invalid}, {" localhost", invalid},
	{"localhost ", invalid}, {"127.0.0.1\x00", invalid},
	{`example.com\@127.0.0.1`, invalid}, {`127.0.0.1\.example.com`, invalid}, {`\\127.0.0.1`, invalid}, {`example.com\`, invalid},
	{"exa^mple.com", invalid}, {"exa|mple.com", invalid},
	{"<127.0.0.1>", invalid}, {"{localhost}", invalid}, {"`localhost`", invalid}, {"*.example.com", invalid}, {"exam\u2100ple.com", invalid},
	{"a／b.example", invalid},
	{"127.0.0.1＃.example.com", invalid}, {"example．com＠127.0.0.1", invalid}, {"\u202elocalhost", invalid}, {"\xff.example", invalid},
	{"xn--\uff41.example", invalid},
	{strings.Repeat("a", 254), invalid}, {strings.Repeat("a.", 127) + "example.com", invalid}, {strings.Repeat("1", 5000), invalid},
	{strings.Repeat("ａ", 300), invalid},
	{"0" + strings.Repeat("0", 300) + "127.1", invalid},
}
