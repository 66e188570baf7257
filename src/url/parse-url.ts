/**
 * Null if it is not a URL. URL.canParse cannot be used: in Node 20 it gives wrong answers, once compiled, for text with letters such as ü
 * (`http://bücher.example/` is a URL 4,000 times and then no longer).
 */
export function parseUrl(text: string, base?: string): URL | null {
  try {
    const url = new URL(text, base)
    // Node 20 leaves it as it is; browsers and the standard since 2024 escape it in paths.
    if (text.includes('^') && url.pathname.includes('^')) url.pathname = url.pathname.replaceAll('^', '%5E')
    return url
  } catch {
    return null
  }
}

export function isWeb(url: Pick<URL, 'protocol'>): boolean {
  return url.protocol === 'https:' || url.protocol === 'http:'
}
