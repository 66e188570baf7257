export function readWithCheerio($) {
  const hrefs = $('a[href]')
    .toArray()
    .map((element) => element.attribs.href)
  return { hrefs, record: { title: $('h1').text(), price: Number($('.price').text().slice(1)), sku: $('.sku').text() } }
}
