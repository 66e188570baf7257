export const GT = 62
export const SLASH = 47
export const BANG = 33
export const QUESTION = 63
export const EQUALS = 61
export const QUOTE = 34
export const APOSTROPHE = 39
export const AMPERSAND = 38
export const LF = 10

export function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 9 || code === 12 || code === 13
}

export function isLetter(code: number): boolean {
  const lower = code | 32
  return lower >= 97 && lower <= 122
}
