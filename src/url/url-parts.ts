/** A parsed URL, or one so plain that its parts are known without a parser. */
export type UrlParts = Pick<URL, 'href' | 'protocol' | 'host' | 'pathname' | 'search'>
