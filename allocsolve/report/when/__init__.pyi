from .call import WhenAnswer as WhenAnswer, when as when
