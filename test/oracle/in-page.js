/**
 * Evaluated inside Chromium, as text: it must not refer to anything outside itself. `DOMParser` and a page that was loaded with scripts off build the
 * same tree. With `documents` null it reads the page that is loaded.
 */
;({ documents, selectors, separator }) => {
  const list = (values) => values.join(separator)
  const absolute = (link, base) => {
    // In SVG `href` is an object; the attribute is then resolved by hand.
    const written = typeof link.href === 'string' ? link.href : link.getAttribute('href')
    const url = URL.canParse(written, base) ? new URL(written, base) : null
    return url !== null && /^https?:$/.test(url.protocol) ? url.href : null
  }
  const answersOf = (page) => {
    const answers = {
      encoding: page.characterSet,
      base: page.baseURI,
      text: page.querySelector('body')?.textContent ?? '',
    }
    const links = [...page.querySelectorAll('a[href]')].map((link) => absolute(link, page.baseURI))
    answers.links = list(links.filter((href) => href !== null))
    answers.attributes = list(
      [...page.querySelectorAll('*')].map((element) =>
        [...element.attributes].map(({ name, value }) => `${name.toLowerCase()}=${value}`).join(' '),
      ),
    )
    for (const selector of selectors) {
      answers[`css ${selector}`] = list([...page.querySelectorAll(selector)].map(({ textContent }) => textContent))
    }
    return answers
  }
  if (documents === null) return [answersOf(document)]
  return documents.map((html) => answersOf(new DOMParser().parseFromString(html, 'text/html')))
}
