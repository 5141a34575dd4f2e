package gotype

import "testing"

func TestGoName(t *testing.T) {
	for name, want := range map[string]string{
		"order_id": "OrderID", "orderId": "OrderID", "OrderID": "OrderID", "api_url_id": "APIURLID", "apiURL": "APIURL",
		"type": "Type", "func": "Func", "http2": "Http2", "utf8": "UTF8", "a": "A", "x_1": "X1", "_x__y_": "XY",
		"größe": "Größe", "über_ID": "ÜberID", "éa": "Éa", "windows_amd64": "WindowsAmd64",
	} {
		if got, err := GoName(name); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, want)
		}
	}
	for name, want := range map[string]string{
		"":       `"" has no letter to make a Go name of`,
		"-":      `"-" has no letter to make a Go name of`,
		"#":      `"#" has no letter to make a Go name of`,
		"1st":    `"1st" gives no exported Go name; begin it with a letter that has a capital form`,
		"_1":     `"_1" gives no exported Go name; begin it with a letter that has a capital form`,
		"日付":     `"日付" gives no exported Go name; begin it with a letter that has a capital form`,
		"٣_drei": `"٣_drei" gives no exported Go name; begin it with a letter that has a capital form`,
	} {
		if got, err := GoName(name); err == nil || err.Error() != want {
			t.Errorf("%q: %s, %v; want %s", name, got, err, want)
		}
	}
}
