/** robots.txt identifies robots by the first word of their user agent. */
export function productToken(userAgent: string): string {
  return /^[A-Za-z_-]+/.exec(userAgent)?.[0] ?? 'Shoal'
}
