/**
 * Null if it is not a URL. URL.canParse cannot be used: in Node 20 it gives wrong answers, once compiled, for text with letters such as ü
 * (`http://bücher.example/` is a URL 4,000 times and then no longer).
 */
export function parseUrl(text: string, base?: string): URL | null {
  try {
    return new URL(text, base)
  } catch {
    return null
  }
}

export function isWeb(url: Pick<URL, 'protocol'>): boolean {
  return url.protocol === 'https:' || url.protocol === 'http:'
}
